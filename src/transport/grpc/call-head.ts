import type { RequestHead } from '../http2/request-head.js';
import type { GrpcMethod } from './grpc-api.js';
import { parseTimeout } from './parse-timeout.js';

/** What the head of a request means to gRPC. */
export interface CallHead {
  readonly head: RequestHead;
  /** Whether it is a gRPC request at all. */
  readonly grpc: boolean;
  readonly method: GrpcMethod | undefined;
  /** Name of the encoding of compressed messages. */
  readonly encoding: string;
  /** As sent; undefined if absent. */
  readonly acceptEncoding: string | undefined;
  /** Milliseconds; undefined for no limit. */
  readonly timeoutMs: number | undefined;
}

/** Fields that are HTTP/2's or gRPC's own and not metadata. */
const OWN_FIELDS = new Set([
  'te',
  'content-type',
  'content-length',
  'host',
  'grpc-timeout',
  'grpc-encoding',
  'grpc-accept-encoding',
  'grpc-message-type',
]);

/** Reads the head of a request. */
export function callHead(head: RequestHead, methods: ReadonlyMap<string, GrpcMethod>): CallHead {
  const contentType = fieldOf(head, 'content-type');
  const timeout = fieldOf(head, 'grpc-timeout');
  return {
    head,
    grpc: head.method === 'POST' && contentType !== undefined && /^application\/grpc($|[+;])/.test(contentType),
    method: methods.get(head.path),
    encoding: fieldOf(head, 'grpc-encoding') ?? 'identity',
    acceptEncoding: fieldOf(head, 'grpc-accept-encoding'),
    timeoutMs: timeout === undefined ? undefined : parseTimeout(timeout),
  };
}

/** First value of a field. */
export function fieldOf(head: RequestHead, name: string): string | undefined {
  for (const field of head.fields) if (field[0] === name) return field[1];
  return undefined;
}

/** The fields that are metadata. */
export function metadataOf(head: RequestHead): Iterable<readonly [string, string]> {
  return head.fields.filter(([name]) => !OWN_FIELDS.has(name));
}
