import { TritonError } from '../base/error.js';
import type { InferResult } from '../client/api/client.js';
import { decodeBytes } from '../protocol/bytes.js';
import { ImageClientFailure } from './failure.js';
import type { ImagePath } from './image-files.js';

/** What one response must look like. */
export interface ExpectedResult {
  readonly output: string;
  readonly batched: boolean;
  readonly classes: number;
  /** Image of every batch element. */
  readonly files: readonly ImagePath[];
}

/**
 * The classes of every image of a request, as printed after the request's line (Postprocess() of Triton's image_client.cc).
 * Labels are bytes of any encoding and pass through. Throws for a response of another form.
 */
export function formatResult(result: InferResult | TritonError, expected: ExpectedResult): Buffer {
  const { output: name, batched, classes, files } = expected;
  if (result instanceof TritonError) {
    throw new ImageClientFailure(`inference  failed with error: ${result.message}`);
  }
  const output = result.output(name);
  if (output === undefined) throw new ImageClientFailure(`unable to get shape for ${name}`);
  const shape = batched ? [files.length, classes] : [classes];
  if (output.shape.length !== shape.length || output.shape.some((dim, i) => dim !== shape[i])) {
    throw new ImageClientFailure(`received incorrect shape for ${name}`);
  }
  if (output.datatype !== 'BYTES') {
    throw new ImageClientFailure(`received incorrect datatype for ${name}: ${output.datatype}`);
  }
  const strings = stringsOf(name, output.data);
  const count = classes * files.length;
  if (strings.length !== count) {
    throw new ImageClientFailure(
      `unexpected number of strings in the result, expected ${count}, got ${strings.length}`,
    );
  }
  const lines: string[] = [];
  for (const [i, file] of files.entries()) {
    lines.push(`Image '${file.toString('latin1')}':\n`);
    for (const string of strings.slice(i * classes, (i + 1) * classes)) lines.push(formatClass(string));
  }
  return Buffer.from(lines.join(''), 'latin1');
}

/** Elements as one character per byte, so that any bytes come out as they came in. */
function stringsOf(name: string, data: Uint8Array): string[] {
  try {
    return decodeBytes(data).map((bytes) => Buffer.from(bytes).toString('latin1'));
  } catch {
    throw new ImageClientFailure(`unable to get data for ${name}`);
  }
}

/** `score:index[:label]` as a line; a label ends at its first colon, as in Triton's image_client. */
function formatClass(result: string): string {
  const [score, index, label] = result.split(':');
  return `    ${score}${index === undefined ? '' : ` (${index})`}${label === undefined ? '' : ` = ${label}`}\n`;
}
