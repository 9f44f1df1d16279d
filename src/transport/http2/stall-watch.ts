/** What a watch looks at in its connection, once each tick. */
export interface WatchedConnection {
  /** Something other than data has begun to come and is not complete: the preface, a frame, a header block. */
  readonly unfinished: boolean;
  /** Bytes that the socket has not got rid of. */
  readonly backlog: number;
  /** Changes whenever the socket got rid of something. */
  readonly progress: number;
  /** Another tick has passed: streams that have made no progress for that many end. */
  endStalled(readTicks: number, writeTicks: number): void;
  /** The connection is cut. */
  destroy(): void;
}

/** Ticks in a timeout: what is cut is cut at most a quarter of the time late. */
const TICKS = 4;

/**
 * Cuts what makes no progress, with one timer for each connection and no look at the clock for each frame. A peer that
 * sends a byte now and then is cut too where the whole has to come within the time (`unfinished`).
 */
export class StallWatch {
  readonly #connection: WatchedConnection;
  readonly #readTicks: number;
  readonly #writeTicks: number;
  #timer: NodeJS.Timeout | undefined;
  /** Ticks during which the same was unfinished, and during which the socket got rid of nothing. */
  #unfinished = 0;
  #stuck = 0;
  #progress = 0;

  /** Times in milliseconds; 0 = never. */
  constructor(connection: WatchedConnection, readTimeoutMs: number, writeTimeoutMs: number) {
    this.#connection = connection;
    const shortest = Math.min(readTimeoutMs || Infinity, writeTimeoutMs || Infinity);
    const tickMs = Math.max(1, shortest / TICKS);
    this.#readTicks = readTimeoutMs === 0 ? Infinity : Math.ceil(readTimeoutMs / tickMs);
    this.#writeTicks = writeTimeoutMs === 0 ? Infinity : Math.ceil(writeTimeoutMs / tickMs);
    if (shortest === Infinity) return;
    this.#timer = setInterval(() => this.#tick(), Math.min(tickMs, MAX_DELAY));
    this.#timer.unref();
  }

  /** Something was completed; what follows has its own time. */
  onComplete(): void {
    this.#unfinished = 0;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    const connection = this.#connection;
    this.#unfinished = connection.unfinished ? this.#unfinished + 1 : 0;
    const { progress } = connection;
    this.#stuck = connection.backlog > 0 && progress === this.#progress ? this.#stuck + 1 : 0;
    this.#progress = progress;
    // The first tick that sees it comes up to a tick after it began.
    if (this.#unfinished > this.#readTicks || this.#stuck > this.#writeTicks) connection.destroy();
    else connection.endStalled(this.#readTicks, this.#writeTicks);
  }
}

/** Longest delay that a timer takes. */
const MAX_DELAY = 2_147_483_647;
