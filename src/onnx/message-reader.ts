/** Walks a protobuf message that lies in memory. */
import { TritonError } from '../protocol/error.js';

/** One field: where it begins, and where its value lies. */
export interface ProtoField {
  readonly number: number;
  readonly wireType: number;
  readonly from: number;
  readonly start: number;
  readonly end: number;
}

/** Reads fields of a message and of the messages inside it. Every method throws INTERNAL for bytes that are none. */
export class MessageReader {
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** The fields of the whole message, or of the message that is a field's value. */
  *fields(inside?: ProtoField): Generator<ProtoField> {
    const until = inside?.end ?? this.#bytes.length;
    for (let at = inside?.start ?? 0; at < until; ) {
      const [tag, start] = this.#varint(at);
      const wireType = Number(tag & 7n);
      let valueStart = start;
      let end: number;
      if (wireType === 0) end = this.#varint(start)[1];
      else if (wireType === 1) end = start + 8;
      else if (wireType === 5) end = start + 4;
      else if (wireType === 2) {
        const [length, begin] = this.#varint(start);
        valueStart = begin;
        end = begin + Number(length);
      } else throw new TritonError('INTERNAL', `wire type ${wireType} in a model at byte ${at}`);
      if (end > until) throw new TritonError('INTERNAL', `a field of a model ends behind its message at byte ${at}`);
      yield { number: Number(tag >> 3n), wireType, from: at, start: valueStart, end };
      at = end;
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
  varints({ wireType, start, end }: ProtoField): bigint[] {
    const values: bigint[] = [];
    for (let at = start; at < end; ) {
      const [value, next] = this.#varint(at);
      values.push(value);
      at = next;
      if (wireType === 0) break;
    }
    return values;
  }

  /** The integers of a field as signed numbers (rounded beyond 2^53). */
  integers(field: ProtoField): number[] {
    return this.varints(field).map((value) => Number(BigInt.asIntN(64, value)));
  }

  #varint(from: number): [value: bigint, next: number] {
    let value = 0n;
    for (let at = from, shift = 0n; at < this.#bytes.length && shift < 70n; at++, shift += 7n) {
      const byte = this.#bytes[at] as number;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return [value, at + 1];
    }
    throw new TritonError('INTERNAL', `no integer in a model at byte ${from}`);
  }
}
