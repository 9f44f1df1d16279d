/** Tokens of a text with the comments and blank lines that stand between them. */
import { type Token, Tokenizer } from './tokenizer.js';

/** One token and what stands before it. */
export interface CommentedToken {
  readonly type: Token['type'];
  readonly text: string;
  readonly bytes: Uint8Array;
  /** A comment behind the token before, on that token's line. */
  readonly trailing: string | undefined;
  /** Comments on lines of their own; '' is a blank line (several count as one). */
  readonly lines: readonly string[];
}

/** All tokens of a text that has no errors, the end included. */
export function commentedTokens(bytes: Uint8Array): CommentedToken[] {
  const tokenizer = new Tokenizer(bytes, () => {});
  const tokens: CommentedToken[] = [];
  let end = 0;
  for (;;) {
    const { type, start } = tokenizer.current;
    const gap = Buffer.from(bytes.subarray(end, start)).toString('utf8');
    tokens.push({ type, text: tokenizer.text, bytes: tokenizer.bytes, ...between(gap, tokens.length === 0) });
    if (type === 'end') return tokens;
    end = tokenizer.current.end;
    tokenizer.next();
  }
}

function between(gap: string, isFirst: boolean): { trailing: string | undefined; lines: string[] } {
  const rows = gap.split('\n').map((row) => row.trim());
  const trailing = isFirst ? undefined : rows.shift() || undefined;
  // What is left of the token's own line is indentation.
  if (!rows.at(-1)?.startsWith('#')) rows.pop();
  const lines = rows.filter((row, i) => row !== '' || (i > 0 ? rows[i - 1] !== '' : true));
  return { trailing, lines };
}
