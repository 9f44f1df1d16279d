import { equalsLowerCase } from './characters.js';

const SPACE = 0x20;
const CARRIAGE_RETURN = 0x0d;

/** Request line and headers, parsed. Strings of headers are made when asked for. */
export class Http1Head {
  /** All bytes from the request line to the empty line; ours alone. */
  readonly bytes: Buffer;
  readonly method: string;
  readonly target: string;
  readonly path: string;
  readonly version: '1.0' | '1.1';
  /** Bytes of the body; -1 if it is chunked. */
  readonly contentLength: number;
  /** Whether the connection stays open after the response, as far as the client wishes. */
  readonly keepAlive: boolean;
  /** Whether the client waits for `100 Continue`. */
  readonly expect: boolean;
  /** For each header: start and end of the name, start and end of the value. */
  readonly #fields: readonly number[];
  readonly #values = new Map<string, string | undefined>();

  constructor(
    bytes: Buffer,
    line: { method: string; target: string; version: '1.0' | '1.1' },
    fields: readonly number[],
    framing: { contentLength: number; keepAlive: boolean; expect: boolean },
  ) {
    this.bytes = bytes;
    this.method = line.method;
    this.target = line.target;
    this.path = pathOf(line.target);
    this.version = line.version;
    this.contentLength = framing.contentLength;
    this.keepAlive = framing.keepAlive;
    this.expect = framing.expect;
    this.#fields = fields;
  }

  header(name: string): string | undefined {
    const known = this.#values.get(name);
    if (known !== undefined || this.#values.has(name)) return known;
    const value = this.#find(name);
    this.#values.set(name, value);
    return value;
  }

  *headers(): Iterable<readonly [string, string]> {
    const fields = this.#fields;
    for (let i = 0; i < fields.length; i += 4) {
      yield [this.bytes.toString('latin1', fields[i]!, fields[i + 1]!), this.#valueAsSent(i)];
    }
  }

  /** libevent, which Triton reads HTTP with, drops the spaces in front of a value and nothing else. */
  #valueAsSent(field: number): string {
    let start = this.#fields[field + 1]! + 1;
    const end = this.bytes.indexOf(CARRIAGE_RETURN, this.#fields[field + 3]!);
    while (start < end && this.bytes[start] === SPACE) start++;
    return start === end ? ' ' : this.bytes.toString('latin1', start, end);
  }

  #find(name: string): string | undefined {
    const fields = this.#fields;
    for (let i = 0; i < fields.length; i += 4) {
      const start = fields[i]!;
      if (fields[i + 1]! - start === name.length && equalsLowerCase(this.bytes, start, name)) return this.#value(i);
    }
    return undefined;
  }

  #value(field: number): string {
    const start = this.#fields[field + 2]!;
    const end = this.#fields[field + 3]!;
    return start === end ? ' ' : this.bytes.toString('latin1', start, end);
  }
}

/** Path of a request target: `/a?b` and `http://host/a?b` are both `/a`; other forms (`*`, `host:port`) stay as they are. */
export function pathOf(target: string): string {
  let start = 0;
  if (target.charCodeAt(0) !== 0x2f) {
    const scheme = target.indexOf('://');
    if (scheme > 0) {
      start = target.slice(scheme + 3).search(/[/?]/) + scheme + 3;
      if (target.charCodeAt(start) !== 0x2f) return '/';
    }
  }
  const query = target.indexOf('?', start);
  if (query < 0) return start === 0 ? target : target.slice(start);
  return target.slice(start, query);
}
