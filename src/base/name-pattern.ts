import { createRequire } from 'node:module';
import type { RE2JS } from 're2js';

/** Loads the engine with the first pattern: most servers have none, and start sooner without it. */
const require = createRequire(import.meta.url);

/** Names whose match is remembered: clients send the same few headers with every request. */
const MAX_REMEMBERED = 1024;

/**
 * A regular expression in the syntax of RE2, as Triton's options take it: `(?i)` and other flags, `(?-i)`, `(?P<name>...)`, no
 * look-ahead and no back-references. Matching takes time linear in the name's length, whatever the pattern: no client can
 * stall the server with a name.
 */
export class NamePattern {
  readonly #pattern: RE2JS;
  readonly #known = new Map<string, boolean>();

  /** Letters match in either case unless the pattern says `(?-i)`. Throws an Error whose message says what is wrong with it. */
  constructor(pattern: string) {
    const engine = require('re2js') as typeof import('re2js');
    this.#pattern = engine.RE2JS.compile(`(?i)${pattern}`);
  }

  /** Whether the pattern is found anywhere in the name. */
  test(name: string): boolean {
    let found = this.#known.get(name);
    if (found === undefined) {
      found = this.#pattern.matcher(name).find();
      if (this.#known.size >= MAX_REMEMBERED) this.#known.clear();
      // A copy of its own: the name may be a part of a much longer text, which would stay in memory with it.
      this.#known.set(Buffer.from(name).toString(), found);
    }
    return found;
  }
}
