import type { InferResult } from '../../client/index.js';

/** Compares an answer byte by byte with what is expected; the text of the first difference (spec, section 8.5). */
export function validateAnswer(
  result: InferResult | undefined,
  expected: ReadonlyMap<string, Uint8Array>,
): string | undefined {
  for (const [name, bytes] of expected) {
    const output = result?.output(name);
    if (output === undefined || output.data.length !== bytes.length) return "Output size doesn't match expected size";
    if (Buffer.compare(output.data, bytes) !== 0) return "Output doesn't match expected output";
  }
  return undefined;
}
