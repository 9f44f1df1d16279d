/** Conversions between numbers and the two 16-bit floating point formats. */

const float = new Float32Array(1);
const bits = new Uint32Array(float.buffer);

/** IEEE half precision bits -> number. */
export function fromFp16(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >>> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** Number -> IEEE half precision bits, rounded to nearest, ties to even. */
export function toFp16(value: number): number {
  if (Number.isNaN(value)) return 0x7e00;
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const magnitude = Math.abs(value);
  // 65520 lies halfway between the largest half, 65504, and the next power of two: from there on it is infinity.
  if (magnitude >= 65520) return sign | 0x7c00;
  if (magnitude < 2 ** -14) return sign | roundEven(magnitude * 2 ** 24);
  const exponent = Math.floor(Math.log2(magnitude));
  // log2 may be off by one at powers of two; both cases are repaired by the scaled fraction below.
  const scaled = roundEven(magnitude * 2 ** (10 - exponent));
  return sign | (((exponent + 15) << 10) + scaled - 1024);
}

/** bfloat16 bits -> number. */
export function fromBf16(brain: number): number {
  bits[0] = brain << 16;
  return float[0]!;
}

/** Number -> bfloat16 bits: the upper half of the float, rounded to nearest, ties to even. */
export function toBf16(value: number): number {
  if (Number.isNaN(value)) return 0x7fc0;
  float[0] = value;
  const word = bits[0]!;
  return (word + 0x7fff + ((word >>> 16) & 1)) >>> 16;
}

function roundEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest < 0.5) return floor;
  if (rest > 0.5) return floor + 1;
  return floor % 2 === 0 ? floor : floor + 1;
}
