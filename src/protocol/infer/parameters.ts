/** Names and rules of request parameters that both protocols share. */
import { TritonError } from '../../base/error.js';
import type { Parameters } from '../tensor.js';
import { requestPrefix } from './request-prefix.js';

/** Longest string correlation id, in bytes. */
const MAX_CORRELATION_ID = 128;

/** Everything of a request that parameters set. */
export interface RequestSettings {
  correlationId: bigint | string;
  sequenceStart: boolean;
  sequenceEnd: boolean;
  priority: bigint;
  timeoutMicroseconds: bigint;
  readonly parameters: Parameters;
}

/** The settings of a request without parameters. */
export const NO_SETTINGS: Readonly<RequestSettings> = {
  correlationId: 0n,
  sequenceStart: false,
  sequenceEnd: false,
  priority: 0n,
  timeoutMicroseconds: 0n,
  parameters: [],
};

/** Checks the length of a string correlation id. */
export function checkCorrelationId(id: string): string {
  if (Buffer.byteLength(id) > MAX_CORRELATION_ID) {
    throw new TritonError(
      'UNSUPPORTED',
      `string correlation ID cannot be longer than ${MAX_CORRELATION_ID} characters`,
    );
  }
  return id;
}

/** The refusal of an input that comes twice. */
export function inputExists(id: string, input: string): TritonError {
  return new TritonError('INVALID_ARG', `${requestPrefix(id)}input '${input}' already exists in request`);
}

/** The refusal of a region that is not registered. */
export function unknownRegion(region: string): TritonError {
  return new TritonError('NOT_FOUND', `Unable to find shared memory region: '${region}'`);
}

const RESERVED = new Set([
  'sequence_id',
  'sequence_start',
  'sequence_end',
  'priority',
  'timeout',
  'headers',
  'binary_data_output',
]);

/** True for parameter names that clients and forwarded headers may not use as custom parameters. */
export function isReservedParameter(name: string): boolean {
  return RESERVED.has(name) || name.startsWith('triton_');
}
