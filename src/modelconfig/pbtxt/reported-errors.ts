import type { ParseError } from './parser.js';
import { syntaxRemedy } from './syntax-remedy.js';

/** An error as a person is to see it. */
export interface ReportedError {
  readonly error: ParseError;
  readonly remedy: string | undefined;
}

/**
 * The errors of a text that a person should read: one for each cause. Protobuf prints more: a character that it cannot read
 * makes the grammar fail too, and a file in another encoding fails at every character.
 */
export function reportedErrors(errors: readonly ParseError[], text: Uint8Array): readonly ReportedError[] {
  const [first] = errors;
  if (first === undefined) return [];
  const encoding = encodingRemedy(text);
  if (encoding !== undefined) return [{ error: { ...first, token: { line: 1, column: 1 } }, remedy: encoding }];
  const lines = new Set<number>();
  const reported: ReportedError[] = [];
  for (const error of errors) {
    const isConsequence = error.lexical ? lines.has(error.token.line) : reported.length > 0;
    if (isConsequence) continue;
    lines.add(error.token.line);
    reported.push({ error, remedy: syntaxRemedy(error) });
  }
  return reported;
}

/** Bytes of a file that are looked at for its encoding. */
const LOOKED_AT = 64;

/** What to do with a text that is UTF-16 or UTF-32, with or without a byte order mark; undefined for others. */
function encodingRemedy(text: Uint8Array): string | undefined {
  const [a, b] = text;
  const marked = (a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff);
  // Without a mark, text of Latin letters has a zero in every other byte.
  const zeros = text.subarray(0, LOOKED_AT).filter((byte) => byte === 0).length;
  if (!marked && zeros * 3 < Math.min(text.length, LOOKED_AT)) return undefined;
  return 'The file is in UTF-16, as some editors of Windows save it. Save it as UTF-8 without a byte order mark.';
}
