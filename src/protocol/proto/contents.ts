/** `InferTensorContents`: typed tensor data inside a message, turned into the tensor's bytes. */
import { encodeBytes } from '../bytes.js';
import { ProtoReader, WireType } from './reader.js';

/** A populated field: its number, how many elements it has, and where their encoded forms lie. */
interface PopulatedField {
  readonly number: number;
  readonly segments: Uint8Array[];
}

const BYTES_CONTENTS = 8;

/** Wire type of the single elements of the fields 1 to 8. */
const ELEMENT_WIRE: readonly number[] = [-1, 0, 0, 0, 0, 0, 5, 1, 2];

/** What the server calls the type of each field, where the declared datatype is not one of the second list. */
const FIELD_TYPES: readonly (readonly string[])[] = [
  [],
  ['BOOL'],
  ['INT32', 'INT8', 'INT16'],
  ['INT64'],
  ['UINT32', 'UINT8', 'UINT16'],
  ['UINT64'],
  ['FP32'],
  ['FP64'],
  ['BYTES'],
];

/** Bytes per element in the tensor. */
const SIZES: Readonly<Record<string, number>> = {
  BOOL: 1,
  INT8: 1,
  UINT8: 1,
  INT16: 2,
  UINT16: 2,
  INT32: 4,
  UINT32: 4,
  INT64: 8,
  UINT64: 8,
};

/** What can be wrong with contents: called instead of returning. */
export interface ContentsFaults {
  /** The data are of `fieldType`, which does not go with the declared datatype. */
  mismatch(fieldType: string): never;
  /** A second field is populated. */
  second(): never;
}

/**
 * The tensor's bytes from an encoded InferTensorContents. Integers are cut to the datatype's low bytes; no populated
 * field gives no bytes (spec: wire protocol, section 7.2).
 */
export function dataOfContents(
  contents: Uint8Array,
  datatype: string,
  faults: ContentsFaults,
  what: 'request' | 'response' = 'request',
): Uint8Array {
  let data: Uint8Array | undefined;
  for (const field of populatedFields(contents, what)) {
    if (data !== undefined) faults.second();
    const [fieldType = '', ...others] = FIELD_TYPES[field.number]!;
    if (datatype !== fieldType && !others.includes(datatype)) faults.mismatch(fieldType);
    data = convert(field, datatype, what);
  }
  return data ?? new Uint8Array(0);
}

function populatedFields(contents: Uint8Array, what: 'request' | 'response'): PopulatedField[] {
  const fields: (PopulatedField | undefined)[] = [];
  const reader = new ProtoReader(contents, what);
  while (reader.pos < reader.end) {
    const tag = reader.tag();
    const number = tag >>> 3;
    const wire = tag & 7;
    const elementWire = ELEMENT_WIRE[number];
    let segment: Uint8Array | undefined;
    if (elementWire !== undefined && wire === WireType.DELIMITED) segment = reader.view();
    else {
      const start = reader.pos;
      reader.skip(tag);
      // An element that is not packed looks like a packed list of one.
      if (wire === elementWire) segment = contents.subarray(start, reader.pos);
    }
    if (segment === undefined || (segment.length === 0 && number !== BYTES_CONTENTS)) continue;
    const field = fields[number];
    if (field === undefined) fields[number] = { number, segments: [segment] };
    else field.segments.push(segment);
  }
  return fields.filter((field) => field !== undefined);
}

function convert({ number, segments }: PopulatedField, datatype: string, what: 'request' | 'response'): Uint8Array {
  if (number === BYTES_CONTENTS) return encodeBytes(segments);
  const wire = ELEMENT_WIRE[number];
  const packed = segments.length === 1 ? segments[0]! : Buffer.concat(segments);
  if (wire === WireType.VARINT) return convertVarints(packed, SIZES[datatype] ?? 8, number === 1, what);
  const size = wire === WireType.FIXED32 ? 4 : 8;
  if (segments.some((segment) => segment.length % size !== 0)) new ProtoReader(packed, what).fail();
  return packed;
}

function convertVarints(packed: Uint8Array, size: number, bool: boolean, what: 'request' | 'response'): Uint8Array {
  let count = 0;
  for (const byte of packed) if (byte < 0x80) count++;
  const data = new Uint8Array(count * size);
  const reader = new ProtoReader(packed, what);
  for (let pos = 0; reader.pos < reader.end; pos += size) {
    reader.varint64();
    const { lo, hi } = reader;
    if (bool) data[pos] = (lo | hi) === 0 ? 0 : 1;
    else {
      for (let i = 0; i < size; i++) data[pos + i] = i < 4 ? lo >>> (8 * i) : hi >>> (8 * (i - 4));
    }
  }
  return data;
}
