/**
 * The table of HTTP endpoints: path, category of restriction, form of errors, handler, and for each method what the OpenAPI
 * document says. A new one takes a handler in handlers/, a line here, and where its bodies are new a schema in
 * openapi/schemas.ts.
 */
import { modelConfig } from './handlers/config.js';
import { generate } from './handlers/generate.js';
import { generateStream } from './handlers/generate-stream.js';
import { modelReady, serverLive, serverReady } from './handlers/health.js';
import { infer } from './handlers/infer.js';
import { logging } from './handlers/logging.js';
import { modelMetadata, serverMetadata } from './handlers/metadata.js';
import { repositoryIndex, repositoryLoad, repositoryUnload } from './handlers/repository.js';
import { sharedMemoryRegister, sharedMemoryStatus, sharedMemoryUnregister } from './handlers/shared-memory.js';
import { statistics } from './handlers/statistics.js';
import { traceSetting } from './handlers/trace.js';
import { sendJson } from './message/respond.js';
import { openApiDocument } from './openapi/document.js';
import { BINARY_HEADER, EVENTS, type OperationSpec, type SchemaName, TIMING_HEADER } from './openapi/operation.js';
import { type HttpEndpoint, UNDOCUMENTED } from './route/endpoint.js';

/** What most endpoints have in common. */
const JSON_ERRORS = { errors: 'application/json' } as const;
const TEXT_ERRORS = { errors: 'text/plain' } as const;

/** The endpoint of a model, with and without a version in its path. */
function ofModel(
  suffix: string,
  endpoint: Pick<HttpEndpoint, 'category' | 'errors' | 'handler'> & {
    readonly get?: OperationSpec;
    readonly post?: OperationSpec;
  },
): HttpEndpoint[] {
  const { get, post, ...common } = endpoint;
  const ofVersion = (spec: OperationSpec): OperationSpec => ({ ...spec, id: `${spec.id}OfVersion` });
  return [
    { ...endpoint, path: `/v2/models/{model}${suffix}` },
    {
      ...common,
      path: `/v2/models/{model}/versions/{version}${suffix}`,
      ...(get === undefined ? {} : { get: ofVersion(get) }),
      ...(post === undefined ? {} : { post: ofVersion(post) }),
    },
  ];
}

/** Operations that show settings and change them. */
function settings(id: string, what: string, schema: SchemaName): Required<Pick<HttpEndpoint, 'get' | 'post'>> {
  return {
    get: { id: `get${id}`, tag: 'settings', summary: `Shows ${what}`, response: schema },
    post: { id: `set${id}`, tag: 'settings', summary: `Changes ${what}`, request: schema, response: schema },
  };
}

/** The endpoints of one kind of shared memory. */
function regions(kind: 'system' | 'cuda', region: SchemaName, list: SchemaName): HttpEndpoint[] {
  const root = `/v2/${kind}sharedmemory`;
  const common = { category: 'shared-memory', ...JSON_ERRORS } as const;
  const [status, register, unregister] = [
    { ...common, handler: sharedMemoryStatus(kind) },
    { ...common, handler: sharedMemoryRegister(kind) },
    { ...common, handler: sharedMemoryUnregister(kind) },
  ];
  const spec = (verb: string, summary: string, more?: Partial<OperationSpec>): OperationSpec => ({
    id: `${kind}Memory${verb}`,
    tag: 'shared memory',
    summary,
    ...more,
  });
  return [
    { path: `${root}/status`, ...status, get: spec('Status', 'Lists the registered regions', { response: list }) },
    { path: `${root}/register`, ...register, post: UNDOCUMENTED },
    { path: `${root}/unregister`, ...unregister, post: spec('UnregisterAll', 'Forgets every region') },
    {
      path: `${root}/region/{region}/status`,
      ...status,
      get: spec('RegionStatus', 'Shows one region', { response: list }),
    },
    {
      path: `${root}/region/{region}/register`,
      ...register,
      post: spec('Register', 'Registers a region', { request: region }),
    },
    { path: `${root}/region/{region}/unregister`, ...unregister, post: spec('Unregister', 'Forgets a region') },
  ];
}

/** An endpoint of the repository; with the name of a repository in its path it stands in no document. */
function ofRepository(suffix: string, endpoint: Omit<HttpEndpoint, 'path' | 'category' | 'errors'>): HttpEndpoint[] {
  const common = { category: 'model-repository', ...JSON_ERRORS, ...endpoint } as const;
  return [
    { ...common, path: `/v2/repository${suffix}` },
    { ...common, path: `/v2/repository/{repository}${suffix}`, post: UNDOCUMENTED },
  ];
}

/** Every endpoint; the OpenAPI document lists them in this order. */
export const ENDPOINTS: readonly HttpEndpoint[] = [
  {
    path: '/v2/health/live',
    category: 'health',
    ...TEXT_ERRORS,
    handler: serverLive,
    get: { id: 'serverLive', tag: 'health', summary: 'Whether the server runs' },
  },
  {
    path: '/v2/health/ready',
    category: 'health',
    ...TEXT_ERRORS,
    handler: serverReady,
    get: { id: 'serverReady', tag: 'health', summary: 'Whether the server and its models are ready' },
  },
  {
    path: '/v2',
    category: 'metadata',
    ...JSON_ERRORS,
    handler: serverMetadata,
    get: { id: 'serverMetadata', tag: 'server', summary: 'Name and extensions', response: 'ServerMetadata' },
  },
  ...ofModel('', {
    category: 'metadata',
    ...JSON_ERRORS,
    handler: modelMetadata,
    get: {
      id: 'modelMetadata',
      tag: 'models',
      summary: 'Inputs, outputs and versions of a model',
      response: 'ModelMetadata',
    },
  }),
  ...ofModel('/ready', {
    category: 'health',
    ...TEXT_ERRORS,
    handler: modelReady,
    get: { id: 'modelReady', tag: 'health', summary: 'Whether a model is ready: 200, else 400' },
  }),
  ...ofModel('/config', {
    category: 'model-config',
    ...JSON_ERRORS,
    handler: modelConfig,
    get: { id: 'modelConfig', tag: 'models', summary: 'The completed configuration', response: 'ModelConfig' },
  }),
  ...ofModel('/stats', {
    category: 'statistics',
    ...JSON_ERRORS,
    handler: statistics,
    get: { id: 'modelStatistics', tag: 'statistics', summary: 'Statistics of a model', response: 'Statistics' },
  }),
  ...ofModel('/infer', {
    category: 'inference',
    ...TEXT_ERRORS,
    handler: infer,
    post: {
      id: 'infer',
      tag: 'inference',
      summary: 'Runs a model on tensors',
      request: 'InferenceRequest',
      response: 'InferenceResponse',
      headers: [BINARY_HEADER, TIMING_HEADER],
    },
  }),
  ...ofModel('/generate', {
    category: 'inference',
    ...JSON_ERRORS,
    handler: generate,
    post: {
      id: 'generate',
      tag: 'inference',
      summary: 'Runs a model on plain JSON values, with one response',
      request: 'GenerateRequest',
      response: 'GenerateResponse',
      headers: [TIMING_HEADER],
    },
  }),
  ...ofModel('/generate_stream', {
    category: 'inference',
    ...JSON_ERRORS,
    handler: generateStream,
    post: {
      id: 'generateStream',
      tag: 'inference',
      summary: 'Runs a model on plain JSON values; answers are server-sent events',
      request: 'GenerateRequest',
      success: EVENTS,
    },
  }),
  {
    path: '/v2/models/stats',
    category: 'statistics',
    ...JSON_ERRORS,
    handler: statistics,
    get: { id: 'statistics', tag: 'statistics', summary: 'Statistics of all models', response: 'Statistics' },
  },
  ...ofRepository('/index', {
    handler: repositoryIndex,
    post: {
      id: 'repositoryIndex',
      tag: 'repository',
      summary: 'Lists the models of the repositories and their states',
      request: 'IndexRequest',
      bodyOptional: true,
      response: 'Index',
    },
  }),
  ...ofRepository('/models/{model}/load', {
    handler: repositoryLoad,
    post: {
      id: 'loadModel',
      tag: 'repository',
      summary: 'Loads or reloads a model',
      request: 'LoadRequest',
      bodyOptional: true,
    },
  }),
  ...ofRepository('/models/{model}/unload', {
    handler: repositoryUnload,
    post: {
      id: 'unloadModel',
      tag: 'repository',
      summary: 'Unloads a model',
      request: 'UnloadRequest',
      bodyOptional: true,
    },
  }),
  {
    path: '/v2/trace/setting',
    category: 'trace',
    ...JSON_ERRORS,
    handler: traceSetting,
    ...settings('TraceSettings', 'the trace settings', 'TraceSettings'),
  },
  {
    path: '/v2/models/{model}/trace/setting',
    category: 'trace',
    ...JSON_ERRORS,
    handler: traceSetting,
    ...settings('ModelTraceSettings', 'the trace settings of a model', 'TraceSettings'),
  },
  {
    path: '/v2/logging',
    category: 'logging',
    ...JSON_ERRORS,
    handler: logging,
    ...settings('LogSettings', 'the log settings', 'LogSettings'),
  },
  ...regions('system', 'SystemRegion', 'SystemRegions'),
  ...regions('cuda', 'CudaRegion', 'CudaRegions'),
  {
    path: '/openapi.json',
    category: 'metadata',
    ...JSON_ERRORS,
    // The document that describes the others.
    handler: (context, _route, _request, reply) =>
      sendJson(reply, JSON.stringify(openApiDocument(context.metadata, ENDPOINTS))),
    get: UNDOCUMENTED,
  },
];
