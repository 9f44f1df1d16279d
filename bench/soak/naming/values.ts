/** Values that only one request of a run can have: every element depends on the request's number. */

/** Odd, so that different numbers of requests give different first elements. */
const SPREAD = 0x9e3779b1;
const STEP = 0x85ebca6b;

/** Bytes of `count` INT32 elements of the request with this number; `plus` is added to each. */
export function numbersOf(token: number, count: number, plus = 0): Uint8Array {
  const values = new Int32Array(count);
  let value = (Math.imul(token, SPREAD) + plus) | 0;
  for (let i = 0; i < count; i++) {
    values[i] = value;
    value = (value + STEP) | 0;
  }
  return new Uint8Array(values.buffer);
}

/** Bytes of `count` BYTES elements, each behind its length: the request's number, the element's, and some more. */
export function stringsOf(token: number, count: number): Uint8Array {
  const parts: Buffer[] = [];
  for (let i = 0; i < count; i++) {
    const text = Buffer.from(`${token}:${i}:${'é'.repeat((token + i) % 40)}`);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(text.length);
    parts.push(length, text);
  }
  return Buffer.concat(parts);
}

/** What is wrong with a tensor's data; undefined when it is right in every element. */
export function difference(got: Uint8Array | undefined, expected: Uint8Array): string | undefined {
  if (got === undefined) return 'there is no output';
  if (Buffer.compare(got, expected) === 0) return undefined;
  if (got.length !== expected.length) return `${got.length} bytes instead of ${expected.length}`;
  const at = expected.findIndex((byte, i) => byte !== got[i]);
  const show = (bytes: Uint8Array): string => Buffer.from(bytes.subarray(at & ~3, (at & ~3) + 16)).toString('hex');
  return `from byte ${at} of ${expected.length} on: ${show(got)} instead of ${show(expected)}`;
}
