/**
 * C's `%f`, which `std::to_string` prints doubles with and so Triton the values of classifications: six decimals, halves
 * to even, never an exponent.
 */
export function toFixed6(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value < 0 ? '-inf' : 'inf';
  if (Math.abs(value) >= 1e21) return `${BigInt(value)}.000000`;
  if (value === 0) return Object.is(value, -0) ? '-0.000000' : '0.000000';
  // A double lies exactly between two 6-decimal texts only when it is an odd multiple of 1/128. JavaScript then rounds
  // away from zero, C to the even digit.
  if (Math.abs((value * 128) % 2) === 1) {
    const exact = value.toFixed(7);
    if (Number(exact.at(-2)) % 2 === 0) return exact.slice(0, -1);
  }
  return value.toFixed(6);
}
