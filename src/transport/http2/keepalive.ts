import type { ResolvedHttp2Options } from './http2-options.js';

/** Interval that pings must keep while there is no stream, unless such pings are allowed: two hours, as in gRPC. */
const IDLE_PING_INTERVAL_MS = 7_200_000;

/** What the keep-alive timers do to their connection. */
export interface KeepaliveOwner {
  readonly streamCount: number;
  /** Counts the frames of responses that were sent. */
  readonly answered: number;
  sendKeepalivePing(): void;
  /** The peer has not answered a ping, or the time after the connection's age has passed. */
  destroy(): void;
  /** The connection is old enough: it takes no more streams and closes when those that are open have ended. */
  retire(): void;
}

/** Timers and ping rules of one connection. */
export class Keepalive {
  readonly #options: ResolvedHttp2Options;
  readonly #owner: KeepaliveOwner;
  #timer: NodeJS.Timeout | undefined;
  #ageTimer: NodeJS.Timeout | undefined;
  #lastRead = performance.now();
  /** A ping is out and nothing was read since. */
  #awaiting = false;
  #lastPing = Number.NEGATIVE_INFINITY;
  #strikes = 0;
  #answered = 0;
  /** Pings sent since the response frame of that number. */
  #pings = 0;
  #answeredAtPing = 0;

  constructor(options: ResolvedHttp2Options, owner: KeepaliveOwner) {
    this.#options = options;
    this.#owner = owner;
    if (options.keepaliveTimeMs > 0) this.#arm(options.keepaliveTimeMs);
    if (options.maxConnectionAgeMs > 0) {
      // A tenth more or less, so that connections opened together do not end together.
      const age = options.maxConnectionAgeMs * (0.9 + Math.random() * 0.2);
      this.#ageTimer = unref(() => this.#onAge(), age);
    }
  }

  /** Something was read. */
  onRead(): void {
    if (this.#options.keepaliveTimeMs === 0) return;
    this.#lastRead = performance.now();
    this.#awaiting = false;
  }

  /** The peer pings. False: it pings too often. */
  onPing(): boolean {
    const { answered } = this.#owner;
    const { minPingIntervalMs, maxPingStrikes, keepaliveWithoutStreams } = this.#options;
    if (minPingIntervalMs === 0 || maxPingStrikes === 0) return true;
    if (answered !== this.#answered) {
      this.#answered = answered;
      this.#strikes = 0;
      this.#lastPing = Number.NEGATIVE_INFINITY;
    }
    const now = performance.now();
    const idle = this.#owner.streamCount === 0 && !keepaliveWithoutStreams;
    const interval = idle ? IDLE_PING_INTERVAL_MS : minPingIntervalMs;
    if (now - this.#lastPing < interval) this.#strikes++;
    this.#lastPing = now;
    return this.#strikes <= maxPingStrikes;
  }

  stop(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#ageTimer);
  }

  #arm(ms: number): void {
    this.#timer = unref(() => this.#check(), ms);
  }

  #check(): void {
    const { keepaliveTimeMs, keepaliveTimeoutMs, keepaliveWithoutStreams } = this.#options;
    // Nothing was read since the ping, whose time is over.
    if (this.#awaiting) {
      this.#owner.destroy();
      return;
    }
    const silent = performance.now() - this.#lastRead;
    if (silent < keepaliveTimeMs) {
      this.#arm(keepaliveTimeMs - silent);
      return;
    }
    if (this.#owner.streamCount === 0 && !keepaliveWithoutStreams) {
      this.#arm(keepaliveTimeMs);
      return;
    }
    if (!this.#mayPing()) {
      this.#arm(keepaliveTimeMs);
      return;
    }
    this.#awaiting = true;
    this.#owner.sendKeepalivePing();
    this.#arm(keepaliveTimeoutMs);
  }

  /** Counts a ping, unless as many as are allowed went out with nothing else after them. */
  #mayPing(): boolean {
    const { maxPingsWithoutData } = this.#options;
    const { answered } = this.#owner;
    if (answered !== this.#answeredAtPing) {
      this.#answeredAtPing = answered;
      this.#pings = 0;
    }
    if (maxPingsWithoutData > 0 && this.#pings >= maxPingsWithoutData) return false;
    this.#pings++;
    return true;
  }

  #onAge(): void {
    this.#owner.retire();
    const grace = this.#options.maxConnectionAgeGraceMs;
    if (grace > 0) this.#ageTimer = unref(() => this.#owner.destroy(), grace);
  }
}

/** Longest delay that a timer takes; longer ones are cut. */
const MAX_DELAY = 2_147_483_647;

function unref(action: () => void, ms: number): NodeJS.Timeout {
  const timer = setTimeout(action, Math.min(Math.max(1, Math.ceil(ms)), MAX_DELAY));
  timer.unref();
  return timer;
}
