/** Least bytes of a body that have to come within the time for a stall. */
const LEAST_PROGRESS = 1024;

/** Watches that a head or a body comes in time: the socket's own timeout does not see a peer that sends a byte now and then. */
export class Progress {
  readonly #timeoutMs: number;
  /** When the head that is read began, or when the body last had come far enough; 0 = none is being waited for. */
  #at = 0;
  /** Bytes of the body that had come then. */
  #received = 0;

  /** `timeoutMs`: 0 = any time. */
  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** Another head or body begins. */
  restart(): void {
    this.#at = 0;
    this.#received = 0;
  }

  /** A part has come, and more is missing. `received`: bytes of the body so far. Returns whether the peer is too slow. */
  tooSlow(received: number): boolean {
    if (this.#timeoutMs === 0) return false;
    const now = performance.now();
    if (this.#at === 0) this.#at = now;
    else if (received - this.#received >= LEAST_PROGRESS) {
      this.#at = now;
      this.#received = received;
    } else return now - this.#at > this.#timeoutMs;
    return false;
  }
}
