/** The OpenAPI document of the HTTP endpoint. The original has none; nothing else of the server depends on it. */
import type { ServerMetadata } from '../../context/server-metadata.js';
import { SCHEMAS, type Schema, schemaRef } from './schemas.js';

/** Where the document is served. */
export const OPENAPI_PATH = '/openapi.json';

type Operation = Readonly<Record<string, unknown>>;
type SchemaName = keyof typeof SCHEMAS;

const JSON_TYPE = 'application/json';
const FAILURE = { $ref: '#/components/responses/Error' };

/** What one operation takes and answers. */
interface OperationSpec {
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly request?: SchemaName;
  /** Requests that may come without a body. */
  readonly bodyOptional?: boolean;
  /** Absent: an empty body. */
  readonly response?: SchemaName;
  readonly more?: Readonly<Record<string, unknown>>;
}

function operation(spec: OperationSpec): Operation {
  const { id, tag, summary, request, response } = spec;
  const content = (name: SchemaName) => ({ [JSON_TYPE]: { schema: schemaRef(name) } });
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(request === undefined ? {} : { requestBody: { required: !spec.bodyOptional, content: content(request) } }),
    responses: {
      '200': { description: 'Done', ...(response === undefined ? {} : { content: content(response) }) },
      default: FAILURE,
    },
    ...spec.more,
  };
}

function pathParameter(name: string, schema: Schema = { type: 'string' }) {
  return { name, in: 'path', required: true, schema };
}

const MODEL = pathParameter('model');
const VERSION = pathParameter('version', { type: 'string', pattern: '^[0-9]+$' });
const REGION = pathParameter('region');

/** Binary tensors: JSON first, its length in a header, then the raw bytes of the tensors. */
const BINARY_HEADER = {
  name: 'Inference-Header-Content-Length',
  in: 'header',
  required: false,
  description: 'Bytes of the JSON part, when raw tensor contents follow it.',
  schema: { type: 'integer', minimum: 0 },
};

/** Any value asks for the times of the request in the header `Server-Timing` of the answer. */
const TIMING = { name: 'Triton-Request-Timing', in: 'header', required: false, schema: { type: 'string' } };

/** Operations on a model, each with and without a version in the path. */
const MODEL_OPERATIONS: readonly (readonly [suffix: string, method: 'get' | 'post', spec: OperationSpec])[] = [
  [
    '',
    'get',
    {
      id: 'modelMetadata',
      tag: 'models',
      summary: 'Inputs, outputs and versions of a model',
      response: 'ModelMetadata',
    },
  ],
  ['/ready', 'get', { id: 'modelReady', tag: 'health', summary: 'Whether a model is ready: 200, else 400' }],
  [
    '/config',
    'get',
    { id: 'modelConfig', tag: 'models', summary: 'The completed configuration', response: 'ModelConfig' },
  ],
  [
    '/stats',
    'get',
    { id: 'modelStatistics', tag: 'statistics', summary: 'Statistics of a model', response: 'Statistics' },
  ],
  [
    '/infer',
    'post',
    {
      id: 'infer',
      tag: 'inference',
      summary: 'Runs a model on tensors',
      request: 'InferenceRequest',
      response: 'InferenceResponse',
      more: { parameters: [BINARY_HEADER, TIMING] },
    },
  ],
  [
    '/generate',
    'post',
    {
      id: 'generate',
      tag: 'inference',
      summary: 'Runs a model on plain JSON values, with one answer',
      request: 'GenerateRequest',
      response: 'GenerateResponse',
      more: { parameters: [TIMING] },
    },
  ],
  [
    '/generate_stream',
    'post',
    {
      id: 'generateStream',
      tag: 'inference',
      summary: 'Runs a model on plain JSON values; answers are server-sent events',
      request: 'GenerateRequest',
      more: {
        responses: {
          '200': {
            description: 'One event per answer',
            content: { 'text/event-stream': { schema: { type: 'string' } } },
          },
          default: FAILURE,
        },
      },
    },
  ],
];

function modelPaths(): Record<string, Record<string, unknown>> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [suffix, method, spec] of MODEL_OPERATIONS) {
    paths[`/v2/models/{model}${suffix}`] = { parameters: [MODEL], [method]: operation(spec) };
    paths[`/v2/models/{model}/versions/{version}${suffix}`] = {
      parameters: [MODEL, VERSION],
      [method]: operation({ ...spec, id: `${spec.id}OfVersion` }),
    };
  }
  return paths;
}

function settingsPath(id: string, what: string, schema: 'TraceSettings' | 'LogSettings') {
  return {
    get: operation({ id: `get${id}`, tag: 'settings', summary: `Shows ${what}`, response: schema }),
    post: operation({ id: `set${id}`, tag: 'settings', summary: `Changes ${what}`, request: schema, response: schema }),
  };
}

function regionPaths(kind: 'system' | 'cuda', region: SchemaName, regions: SchemaName) {
  const root = `/v2/${kind}sharedmemory`;
  const spec = (verb: string, summary: string): OperationSpec => ({
    id: `${kind}Memory${verb}`,
    tag: 'shared memory',
    summary,
  });
  return {
    [`${root}/status`]: { get: operation({ ...spec('Status', 'Lists the registered regions'), response: regions }) },
    [`${root}/unregister`]: { post: operation(spec('UnregisterAll', 'Forgets every region')) },
    [`${root}/region/{region}/status`]: {
      parameters: [REGION],
      get: operation({ ...spec('RegionStatus', 'Shows one region'), response: regions }),
    },
    [`${root}/region/{region}/register`]: {
      parameters: [REGION],
      post: operation({ ...spec('Register', 'Registers a region'), request: region }),
    },
    [`${root}/region/{region}/unregister`]: {
      parameters: [REGION],
      post: operation(spec('Unregister', 'Forgets a region')),
    },
  };
}

function repositoryPath(id: string, summary: string, request: SchemaName) {
  return { parameters: [MODEL], post: operation({ id, tag: 'repository', summary, request, bodyOptional: true }) };
}

/** Makes the document of a server. */
export function openApiDocument(metadata: ServerMetadata): Schema {
  return {
    openapi: '3.1.0',
    info: {
      title: `Inference server '${metadata.name}'`,
      version: metadata.version,
      description: 'KServe inference protocol version 2 with the extensions that the server metadata lists.',
    },
    paths: {
      '/v2/health/live': { get: operation({ id: 'serverLive', tag: 'health', summary: 'Whether the server runs' }) },
      '/v2/health/ready': {
        get: operation({ id: 'serverReady', tag: 'health', summary: 'Whether the server and its models are ready' }),
      },
      '/v2': {
        get: operation({
          id: 'serverMetadata',
          tag: 'server',
          summary: 'Name and extensions',
          response: 'ServerMetadata',
        }),
      },
      ...modelPaths(),
      '/v2/models/stats': {
        get: operation({
          id: 'statistics',
          tag: 'statistics',
          summary: 'Statistics of all models',
          response: 'Statistics',
        }),
      },
      '/v2/repository/index': {
        post: operation({
          id: 'repositoryIndex',
          tag: 'repository',
          summary: 'Lists the models of the repositories and their states',
          request: 'IndexRequest',
          bodyOptional: true,
          response: 'Index',
        }),
      },
      '/v2/repository/models/{model}/load': repositoryPath('loadModel', 'Loads or reloads a model', 'LoadRequest'),
      '/v2/repository/models/{model}/unload': repositoryPath('unloadModel', 'Unloads a model', 'UnloadRequest'),
      '/v2/trace/setting': settingsPath('TraceSettings', 'the trace settings', 'TraceSettings'),
      '/v2/models/{model}/trace/setting': {
        parameters: [MODEL],
        ...settingsPath('ModelTraceSettings', 'the trace settings of a model', 'TraceSettings'),
      },
      '/v2/logging': settingsPath('LogSettings', 'the log settings', 'LogSettings'),
      ...regionPaths('system', 'SystemRegion', 'SystemRegions'),
      ...regionPaths('cuda', 'CudaRegion', 'CudaRegions'),
    },
    components: {
      schemas: SCHEMAS,
      responses: {
        Error: {
          description: 'What was wrong. The health paths answer without a body.',
          // Some areas label the same body as plain text, as the original does.
          content: { [JSON_TYPE]: { schema: schemaRef('Error') }, 'text/plain': { schema: { type: 'string' } } },
        },
      },
    },
  };
}
