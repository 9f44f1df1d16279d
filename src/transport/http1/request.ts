import type { Http1Head } from './head.js';
import type { Http1Request } from './http1-api.js';

/** A head and its body. */
export class Request implements Http1Request {
  readonly #head: Http1Head;
  readonly body: Uint8Array;
  readonly receivedFromNs: number;

  constructor(head: Http1Head, body: Uint8Array, receivedFromNs: number) {
    this.#head = head;
    this.body = body;
    this.receivedFromNs = receivedFromNs;
  }

  get method(): string {
    return this.#head.method;
  }

  get target(): string {
    return this.#head.target;
  }

  get path(): string {
    return this.#head.path;
  }

  get version(): '1.0' | '1.1' {
    return this.#head.version;
  }

  header(name: string): string | undefined {
    return this.#head.header(name);
  }

  headers(): Iterable<readonly [name: string, value: string]> {
    return this.#head.headers();
  }
}
