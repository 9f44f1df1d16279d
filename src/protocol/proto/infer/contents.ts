/** `InferTensorContents`: typed tensor data inside a message, turned into the tensor's bytes. */
import { ProtoReader, WireType } from '../reader.js';

const BYTES_CONTENTS = 8;

/** Wire type of the single elements of the fields 1 to 8. */
const ELEMENT_WIRE: readonly number[] = [-1, 0, 0, 0, 0, 0, 5, 1, 2];

/** What Triton calls the type of each field, where the declared datatype is not one of the second list. */
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
 * field gives no bytes.
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

function populatedFields(contents: Uint8Array, what: 'request' | 'response'): FieldData[] {
  const fields: (FieldData | undefined)[] = [];
  const reader = new ProtoReader(contents, what);
  while (reader.pos < reader.end) {
    const tag = reader.tag();
    const number = tag >>> 3;
    const wire = tag & 7;
    const elementWire = ELEMENT_WIRE[number];
    let start = reader.pos;
    if (elementWire !== undefined && wire === WireType.DELIMITED) {
      const length = reader.length();
      start = reader.pos;
      reader.pos = start + length;
    } else {
      reader.skip(tag);
      // An element that is not packed looks like a packed list of one.
      if (wire !== elementWire) continue;
    }
    if (start === reader.pos && number !== BYTES_CONTENTS) continue;
    const size = FIXED_SIZES[number]!;
    if ((reader.pos - start) % size !== 0) reader.fail();
    fields[number] ??= new FieldData(number, contents);
    fields[number].add(start, reader.pos);
  }
  return fields.filter((field) => field !== undefined);
}

function convert(field: FieldData, datatype: string, what: 'request' | 'response'): Uint8Array {
  const { number, bytes } = field;
  if (ELEMENT_WIRE[number] !== WireType.VARINT) return bytes;
  return convertVarints(bytes, SIZES[datatype] ?? 8, number === 1, what);
}

/** Bytes of one element of the fields 1 to 8, where it is always the same. */
const FIXED_SIZES: readonly number[] = [1, 1, 1, 1, 1, 1, 4, 8, 1];
/** Smallest buffer for what is put together. */
const FIRST_SIZE = 256;
/** Bytes of the length before each element of a BYTES tensor. */
const LENGTH_SIZE = 4;

/**
 * The encoded elements of one field, one behind the other; those of `bytes_contents` each behind its length. A list that
 * comes in one piece stays where it is; single elements are copied and cost no object: a request may have millions.
 */
class FieldData {
  readonly number: number;
  readonly #source: Uint8Array;
  /** The only piece so far, if `#copy` is undefined. */
  #start = 0;
  #end = 0;
  #copy: Buffer | undefined;
  #size = 0;

  constructor(number: number, source: Uint8Array) {
    this.number = number;
    this.#source = source;
  }

  get bytes(): Uint8Array {
    if (this.#copy !== undefined) return this.#copy.subarray(0, this.#size);
    return this.#source.subarray(this.#start, this.#end);
  }

  /** Adds `source[start, end)`. */
  add(start: number, end: number): void {
    if (this.number === BYTES_CONTENTS) {
      const at = this.#grow(LENGTH_SIZE);
      this.#copy!.writeUInt32LE(end - start, at);
      this.#append(start, end);
    } else if (this.#copy === undefined && this.#end === 0) {
      this.#start = start;
      this.#end = end;
    } else {
      if (this.#copy === undefined) this.#append(this.#start, this.#end);
      this.#append(start, end);
    }
  }

  #append(start: number, end: number): void {
    let at = this.#grow(end - start);
    if (end - start > 64) this.#copy!.set(this.#source.subarray(start, end), at);
    else for (let from = start; from < end; from++) this.#copy![at++] = this.#source[from]!;
  }

  /** Makes room for the given number of bytes; returns where it is. */
  #grow(size: number): number {
    const at = this.#size;
    this.#size += size;
    const copy = this.#copy;
    if (copy !== undefined && this.#size <= copy.length) return at;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#size, FIRST_SIZE, at * 2));
    if (copy !== undefined) larger.set(copy.subarray(0, at));
    this.#copy = larger;
    return at;
  }
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
