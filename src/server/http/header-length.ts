import { invalidArg } from '../../protocol/error.js';

/** Value of `Inference-Header-Content-Length`: read like C's stoi; undefined without the header. Throws INVALID_ARG. */
export function parseHeaderLength(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const match = /^[ \t\n\v\f\r]*([+-]?\d+)/.exec(value);
  if (match === null) throw invalidArg(`Unable to parse Inference-Header-Content-Length, got: ${value}`);
  const length = Number(match[1]);
  if (length < -2147483648 || length > 2147483647) {
    throw invalidArg(
      `Unable to parse Inference-Header-Content-Length, value is out of range [ -2147483648, 2147483647 ], got: ${value}`,
    );
  }
  return length;
}
