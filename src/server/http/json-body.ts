import { invalidArg } from '../../protocol/error.js';
import { type JsonValue, parseJson } from '../../protocol/json/json-value.js';
import type { ServerContext } from '../server-context.js';

/** Parses a body, an empty one too (which is a syntax error). Throws INVALID_ARG above the input size. */
export function parseBody(context: ServerContext, body: Uint8Array): JsonValue {
  const { maxInputSize } = context.options.http;
  if (body.length > maxInputSize) {
    throw invalidArg(
      `request JSON size of ${body.length} bytes exceeds the maximum allowed input size of ${maxInputSize} bytes. ` +
        'Use --http-max-input-size to increase the limit.',
    );
  }
  return parseJson(body);
}

/** Parses a body that may be left out. */
export function parseOptionalBody(context: ServerContext, body: Uint8Array): JsonValue | undefined {
  return body.length === 0 ? undefined : parseBody(context, body);
}
