import type { ExecutionRequest } from '../../../contract/backend.js';

/** The requests of a process that have no final response yet, each under the key by which frames name it. */
export class OpenRequests {
  readonly #open = new Map<number, ExecutionRequest>();
  readonly #onTaken: (key: number) => void;
  #nextKey = 0;

  /** `onTaken` is called with the key of each request that is taken out. */
  constructor(onTaken: (key: number) => void) {
    this.#onTaken = onTaken;
  }

  get size(): number {
    return this.#open.size;
  }

  /** There are requests, and the clients of all of them are gone. */
  get abandoned(): boolean {
    if (this.#open.size === 0) return false;
    for (const { cancelled } of this.#open.values()) if (!cancelled) return false;
    return true;
  }

  /** Takes a request in; returns its key. */
  add(request: ExecutionRequest): number {
    // Keys come round after 2^32 requests; one whose request is still open is passed over.
    while (this.#open.has(this.#nextKey)) this.#nextKey = (this.#nextKey + 1) >>> 0;
    const key = this.#nextKey;
    this.#nextKey = (key + 1) >>> 0;
    this.#open.set(key, request);
    return key;
  }

  get(key: number): ExecutionRequest | undefined {
    return this.#open.get(key);
  }

  /** Keys of all requests. */
  keys(): number[] {
    return [...this.#open.keys()];
  }

  /** The request of a key, which then counts as answered; undefined when it is answered already. */
  take(key: number): ExecutionRequest | undefined {
    const request = this.#open.get(key);
    if (request === undefined) return undefined;
    this.#open.delete(key);
    this.#onTaken(key);
    request.onCancelled = undefined;
    return request;
  }
}
