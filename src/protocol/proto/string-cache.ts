import { isUtf8 } from 'node:buffer';

/**
 * Strings that repeat from message to message (model, tensor and datatype names, versions) are looked up by their bytes
 * instead of being decoded again: no native call, no allocation, and equal names are the same object, which makes later
 * comparisons cheap. Direct-mapped with a fixed number of short entries, so what it can hold on to is bounded (64 KiB).
 */
const SLOTS = 1024;
const LONGEST = 32;
const cache: (string | undefined)[] = new Array<string | undefined>(SLOTS).fill(undefined);

const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** True when the bytes in [start, end) are ASCII and equal to the text. */
export function equalsAscii(bytes: Uint8Array, start: number, end: number, text: string): boolean {
  if (end - start !== text.length) return false;
  for (let i = 0; i < text.length; i++) if (bytes[start + i] !== text.charCodeAt(i)) return false;
  return true;
}

/** The text of the UTF-8 bytes in [start, end); undefined when they are not UTF-8. */
export function decodeUtf8Strict(bytes: Uint8Array, start: number, end: number): string | undefined {
  const length = end - start;
  if (length === 0) return '';
  if (length > LONGEST) {
    return isUtf8(bytes.subarray(start, end)) ? asBuffer(bytes).toString('utf8', start, end) : undefined;
  }
  let hash = length;
  let all = 0;
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!;
    hash = (Math.imul(hash, 31) + byte) | 0;
    all |= byte;
  }
  if (all >= 0x80) {
    return isUtf8(bytes.subarray(start, end)) ? asBuffer(bytes).toString('utf8', start, end) : undefined;
  }
  const slot = (hash ^ (hash >>> 10)) & (SLOTS - 1);
  const known = cache[slot];
  if (known !== undefined && equalsAscii(bytes, start, end, known)) return known;
  const text = asBuffer(bytes).toString('latin1', start, end);
  cache[slot] = text;
  return text;
}

/** The text of the UTF-8 bytes in [start, end); what is not UTF-8 becomes replacement characters. */
export function decodeUtf8(bytes: Uint8Array, start: number, end: number): string {
  return decodeUtf8Strict(bytes, start, end) ?? asBuffer(bytes).toString('utf8', start, end);
}
