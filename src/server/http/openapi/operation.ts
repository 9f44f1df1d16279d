import { type SCHEMAS, type Schema, schemaRef } from './schemas.js';

/** Name of a schema in schemas.ts. */
export type SchemaName = keyof typeof SCHEMAS;

/** The content type of JSON. */
export const JSON_TYPE = 'application/json';

const FAILURE = { $ref: '#/components/responses/Error' };

/** What one operation takes and returns. */
export interface OperationSpec {
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly request?: SchemaName;
  /** Requests that may come without a body. */
  readonly bodyOptional?: boolean;
  /** Absent: an empty body. */
  readonly response?: SchemaName;
  /** Headers that the request may have. */
  readonly headers?: readonly Schema[];
  /** The successful response where it is not JSON: its description and content. */
  readonly success?: Schema;
}

/** The operation object of a specification. */
export function operationObject(spec: OperationSpec): Schema {
  const { id, tag, summary, request, response, headers, success } = spec;
  const content = (name: SchemaName) => ({ [JSON_TYPE]: { schema: schemaRef(name) } });
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(request === undefined ? {} : { requestBody: { required: !spec.bodyOptional, content: content(request) } }),
    responses: {
      '200': success ?? { description: 'Done', ...(response === undefined ? {} : { content: content(response) }) },
      default: FAILURE,
    },
    ...(headers === undefined ? {} : { parameters: headers }),
  };
}

/** Binary tensors: JSON first, its length in a header, then the raw bytes of the tensors. */
export const BINARY_HEADER: Schema = {
  name: 'Inference-Header-Content-Length',
  in: 'header',
  required: false,
  description: 'Bytes of the JSON part, when raw tensor contents follow it.',
  schema: { type: 'integer', minimum: 0 },
};

/** Any value asks for the times of the request in the header `Server-Timing` of the response. */
export const TIMING_HEADER: Schema = {
  name: 'Triton-Request-Timing',
  in: 'header',
  required: false,
  schema: { type: 'string' },
};

/** A stream of server-sent events. */
export const EVENTS: Schema = {
  description: 'One event per response',
  content: { 'text/event-stream': { schema: { type: 'string' } } },
};
