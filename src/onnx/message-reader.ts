/** Walks a protobuf message that lies in memory: the fields of a message, and of the messages inside it. */
import { ProtoReader, WireType } from '../protocol/proto/reader.js';

/** One field: where it begins, and where its value lies. */
export interface ProtoField {
  readonly number: number;
  readonly wireType: number;
  readonly from: number;
  readonly start: number;
  readonly end: number;
}

/** Reads the fields of one model. Every method throws INTERNAL `Unable to parse model` for bytes that are not a message. */
export class MessageReader {
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** The fields of the whole message, or of the message that is a field's value. */
  *fields(inside?: ProtoField): Generator<ProtoField> {
    const reader = this.#at(inside?.start ?? 0, inside?.end ?? this.#bytes.length);
    while (reader.pos < reader.end) {
      const from = reader.pos;
      const tag = reader.tag();
      const wireType = tag & 7;
      const length = wireType === WireType.DELIMITED ? reader.length() : undefined;
      const start = reader.pos;
      if (length === undefined) reader.skip(tag);
      else reader.pos += length;
      yield { number: tag >>> 3, wireType, from, start, end: reader.pos };
    }
  }

  /** A field's value as text. */
  text({ start, end }: ProtoField): string {
    return this.#bytes.toString('utf8', start, end);
  }

  /** A field's value, as a view. */
  bytes({ start, end }: ProtoField): Buffer {
    return this.#bytes.subarray(start, end);
  }

  /** A whole field with its tag, as a view. */
  whole({ from, end }: ProtoField): Buffer {
    return this.#bytes.subarray(from, end);
  }

  /** The integers of a field, packed or single, as unsigned 64-bit numbers. */
  varints({ start, end }: ProtoField): bigint[] {
    const values: bigint[] = [];
    for (const reader = this.#at(start, end); reader.pos < end; ) values.push(reader.uint64());
    return values;
  }

  /** The integers of a field as signed numbers (rounded beyond 2^53). */
  integers({ start, end }: ProtoField): number[] {
    const values: number[] = [];
    for (const reader = this.#at(start, end); reader.pos < end; ) values.push(reader.int64Number());
    return values;
  }

  #at(start: number, end: number): ProtoReader {
    const reader = new ProtoReader(this.#bytes, 'model');
    reader.pos = start;
    reader.end = end;
    return reader;
  }
}
