import { type ProtoReader, WireType } from './reader.js';
import type { ScalarType } from './schema.js';
import type { ProtoWriter } from './writer.js';

/** How one value is read and written, its tag aside. */
export interface ValueCodec {
  readonly wire: number;
  readonly packable: boolean;
  /** `into`: the message to merge into, where there is one. */
  read(reader: ProtoReader, into?: unknown): unknown;
  write(writer: ProtoWriter, value: unknown): void;
  isDefault(value: unknown): boolean;
}

function scalarCodec<T>(
  wire: number,
  read: (reader: ProtoReader) => T,
  write: (writer: ProtoWriter, value: T) => void,
  isDefault: (value: T) => boolean,
): ValueCodec {
  return {
    wire,
    packable: wire !== WireType.DELIMITED,
    read: (reader) => read(reader),
    write: (writer, value) => write(writer, value as T),
    isDefault: (value) => isDefault(value as T),
  };
}

/** -0 is not the default: its bits differ from zero's. */
const isPlusZero = (value: number) => Object.is(value, 0);
const isZero = (value: number) => value === 0;
const isZero64 = (value: bigint) => value === 0n;
const { VARINT, FIXED32, FIXED64, DELIMITED } = WireType;

/** Codecs of the scalar types. */
export const SCALARS: Record<ScalarType, ValueCodec> = {
  bool: scalarCodec<boolean>(
    VARINT,
    (r) => r.bool(),
    (w, v) => w.byte(v ? 1 : 0),
    (v) => !v,
  ),
  int32: scalarCodec<number>(
    VARINT,
    (r) => r.uint32() | 0,
    (w, v) => w.int32(v),
    isZero,
  ),
  int64: scalarCodec<bigint>(
    VARINT,
    (r) => r.int64(),
    (w, v) => w.varint64(v),
    isZero64,
  ),
  uint32: scalarCodec<number>(
    VARINT,
    (r) => r.uint32(),
    (w, v) => w.uint32(v),
    isZero,
  ),
  uint64: scalarCodec<bigint>(
    VARINT,
    (r) => r.uint64(),
    (w, v) => w.varint64(v),
    isZero64,
  ),
  float: scalarCodec<number>(
    FIXED32,
    (r) => r.float(),
    (w, v) => w.float(v),
    isPlusZero,
  ),
  double: scalarCodec<number>(
    FIXED64,
    (r) => r.double(),
    (w, v) => w.double(v),
    isPlusZero,
  ),
  string: scalarCodec<string>(
    DELIMITED,
    (r) => r.string(),
    (w, v) => w.string(v),
    (v) => v === '',
  ),
  bytes: scalarCodec<Uint8Array>(
    DELIMITED,
    (r) => r.view(),
    (w, v) => w.bytes(v),
    (v) => v.length === 0,
  ),
};
