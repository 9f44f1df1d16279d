/** Order of strings by the bytes of their UTF-8, as Triton's sets of names have it; for `sort`. */
export function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
