import { TritonError } from '../../base/error.js';

/** Reasons of syntax errors, in the words of RapidJSON, which Triton reads JSON with. */
export const SyntaxReason = {
  EMPTY: 'The document is empty.',
  ROOT_FOLLOWED: 'The document root must not be followed by other values.',
  VALUE: 'Invalid value.',
  NAME: 'Missing a name for object member.',
  COLON: 'Missing a colon after a name of object member.',
  COMMA_OR_BRACE: "Missing a comma or '}' after an object member.",
  COMMA_OR_BRACKET: "Missing a comma or ']' after an array element.",
  HEX: 'Incorrect hex digit after \\u escape in string.',
  SURROGATE: 'The surrogate pair in string is invalid.',
  ESCAPE: 'Invalid escape character in string.',
  QUOTE: 'Missing a closing quotation mark in string.',
  TOO_BIG: 'Number too big to be stored in double.',
  FRACTION: 'Miss fraction part in number.',
  EXPONENT: 'Miss exponent in number.',
  /** Not RapidJSON's: it has no limit, and a deep document exhausts its stack. */
  DEPTH: 'Nested deeper than 1000 levels.',
} as const;

/** One of the reasons. */
export type SyntaxReason = (typeof SyntaxReason)[keyof typeof SyntaxReason];

/** Bytes that are not JSON. `offset`: byte from the start of the text. */
export class JsonSyntaxError extends TritonError {
  readonly reason: SyntaxReason;
  readonly offset: number;

  constructor(reason: SyntaxReason, offset: number) {
    super('INTERNAL', `failed to parse the request JSON buffer: ${reason} at ${offset}`);
    this.reason = reason;
    this.offset = offset;
  }
}

/** A value that is not what was asked for; INTERNAL like every error of the JSON layer. */
export function jsonError(text: string): TritonError {
  return new TritonError('INTERNAL', text);
}

/** Runs `read` and puts `prefix` before the text of the JSON layer's error. */
export function withPrefix<T>(prefix: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw prefixed(prefix, error);
  }
}

/** The same error with `prefix` before its text. */
export function prefixed(prefix: string, error: unknown): TritonError {
  const { code, message } = TritonError.from(error);
  return new TritonError(code, `${prefix}${message}`);
}
