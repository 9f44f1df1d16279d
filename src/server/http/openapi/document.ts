/** The OpenAPI document of the HTTP endpoint. Triton has no such document; nothing else of the server depends on it. */
import type { ServerMetadata } from '../../context/server-metadata.js';
import { JSON_TYPE, type OperationSpec, operationObject } from './operation.js';
import { SCHEMAS, type Schema, schemaRef } from './schemas.js';

/** What the document needs of an endpoint: a method whose operation is not an object stays out of it. */
export interface DocumentedEndpoint {
  readonly path: string;
  readonly get?: OperationSpec | string;
  readonly post?: OperationSpec | string;
}

/** Makes the document of a server. */
export function openApiDocument(metadata: ServerMetadata, endpoints: readonly DocumentedEndpoint[]): Schema {
  return {
    openapi: '3.1.0',
    info: {
      title: `Inference server '${metadata.name}'`,
      version: metadata.version,
      description: 'KServe inference protocol version 2 with the extensions that the server metadata lists.',
    },
    paths: Object.fromEntries(endpoints.flatMap(pathEntry)),
    components: {
      schemas: SCHEMAS,
      responses: {
        Error: {
          description: 'What was wrong. The health paths answer without a body.',
          // Some endpoints label the same body as plain text, as Triton does.
          content: { [JSON_TYPE]: { schema: schemaRef('Error') }, 'text/plain': { schema: { type: 'string' } } },
        },
      },
    },
  };
}

function pathEntry({ path, get, post }: DocumentedEndpoint): [path: string, item: Schema][] {
  const operations = {
    ...(typeof get === 'object' ? { get: operationObject(get) } : {}),
    ...(typeof post === 'object' ? { post: operationObject(post) } : {}),
  };
  if (Object.keys(operations).length === 0) return [];
  const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => pathParameter(name!));
  return [[path, { ...(parameters.length === 0 ? {} : { parameters }), ...operations }]];
}

function pathParameter(name: string): Schema {
  const schema = name === 'version' ? { type: 'string', pattern: '^[0-9]+$' } : { type: 'string' };
  return { name, in: 'path', required: true, schema };
}
