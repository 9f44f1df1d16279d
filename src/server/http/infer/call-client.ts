import type { Http1Reply, Http1Request } from '../../../transport/http1/http1-api.js';
import type { CallClient } from '../../infer/inference-call.js';

/** The client of an inference call over HTTP; a client whose connection is gone needs no response. */
export class HttpCallClient implements CallClient {
  readonly message: Uint8Array | undefined;
  readonly #request: Http1Request;
  readonly #reply: Http1Reply;

  constructor(request: Http1Request, reply: Http1Reply, message: Uint8Array | undefined) {
    this.#request = request;
    this.#reply = reply;
    this.message = message;
  }

  header(name: string): string | undefined {
    return this.#request.header(name);
  }

  headers(): Iterable<readonly [name: string, value: string]> {
    return this.#request.headers();
  }

  handOver(bytes: number): void {
    this.#reply.handOver(bytes);
  }

  onGone(listener: () => void): void {
    this.#reply.onClose(listener);
  }

  /** The transport gives the body's memory back with the response. */
  release(): void {}
}
