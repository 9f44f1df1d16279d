/** The datatypes of the wire protocol, their sizes, and their names in model configurations. */

/** Bytes per element; 0 for BYTES, whose elements carry their own length. Order = that of the configuration's enum. */
const SIZES = {
  BOOL: 1,
  UINT8: 1,
  UINT16: 2,
  UINT32: 4,
  UINT64: 8,
  INT8: 1,
  INT16: 2,
  INT32: 4,
  INT64: 8,
  FP16: 2,
  FP32: 4,
  FP64: 8,
  BYTES: 0,
  BF16: 2,
} as const;

/** Name of a datatype on the wire. Exact and case-sensitive. */
export type Datatype = keyof typeof SIZES;

/** Every datatype, in the order of the configuration's enum (whose numbers start at 1). */
export const DATATYPES = Object.keys(SIZES) as readonly Datatype[];

/** True when the text names a datatype of the protocol. */
export function isDatatype(text: string): text is Datatype {
  return Object.hasOwn(SIZES, text);
}

/** Bytes of one element; 0 for BYTES. */
export function elementSize(datatype: Datatype): number {
  return SIZES[datatype];
}

/** `FP32` -> `TYPE_FP32`, `BYTES` -> `TYPE_STRING`: the name in a model configuration. */
export function configTypeOf(datatype: Datatype): 'TYPE_STRING' | `TYPE_${Exclude<Datatype, 'BYTES'>}` {
  return datatype === 'BYTES' ? 'TYPE_STRING' : `TYPE_${datatype}`;
}

/** Datatype of a number of the configuration's enum; undefined for TYPE_INVALID and unknown numbers. */
export function datatypeOfConfigValue(value: number): Datatype | undefined {
  return DATATYPES[value - 1];
}

/** Number of a datatype in the configuration's enum. */
export function configValueOf(datatype: Datatype): number {
  return DATATYPES.indexOf(datatype) + 1;
}

/** Number of elements of a fully specified shape: 1 for a scalar's empty shape. */
export function elementCount(shape: readonly number[]): number {
  let count = 1;
  for (const dim of shape) count *= dim;
  return count;
}

/** `[1,16]`: how every message of Triton prints a shape. */
export function formatShape(shape: readonly (number | bigint)[]): string {
  return `[${shape.join(',')}]`;
}
