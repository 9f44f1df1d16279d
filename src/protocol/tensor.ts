import type { Datatype } from './datatype.js';

/**
 * A tensor as it travels through the whole program: name, datatype, shape and one contiguous little-endian,
 * row-major block of bytes. BYTES elements stand in their wire form: a 4-byte little-endian length before each.
 * `data` may be a view on a larger buffer, is not necessarily aligned, and must not be written to by a receiver.
 */
export interface Tensor {
  readonly name: string;
  readonly datatype: Datatype;
  /** All dimensions, the batch dimension included. Never negative. */
  readonly shape: readonly number[];
  readonly data: Uint8Array;
}

/** Name, datatype and shape as metadata shows them: -1 stands for a variable dimension, the batch included. */
export interface TensorMetadata {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
}

/** Value of a request or response parameter. Integers are bigint, so that doubles stay distinguishable. */
export type ParameterValue = boolean | string | bigint | number;

/** Request or response parameters in their order; a name may occur twice (forwarded headers). */
export type Parameters = readonly (readonly [name: string, value: ParameterValue])[];
