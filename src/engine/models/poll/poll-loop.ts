import { MAX_TIMER_MS } from '../../../base/clock.js';

/** Looks at the repositories at once and then again and again, in mode poll. */
export class PollLoop {
  readonly #poll: () => Promise<void>;
  readonly #intervalMs: number;
  readonly #whileBusy: () => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  /**
   * `poll` and `whileBusy` must not reject. `seconds`: from the end of one look to the next, and between calls of
   * `whileBusy` during a look that takes longer.
   */
  constructor(poll: () => Promise<void>, seconds: number, whileBusy: () => Promise<void> = async () => {}) {
    this.#poll = poll;
    this.#whileBusy = whileBusy;
    this.#intervalMs = Math.min(seconds * 1000, MAX_TIMER_MS);
  }

  start(): void {
    if (this.#stopped) return;
    const busy = setInterval(() => void this.#whileBusy(), this.#intervalMs);
    void this.#poll().then(() => {
      clearInterval(busy);
      if (!this.#stopped) this.#timer = setTimeout(() => this.start(), this.#intervalMs);
    });
  }

  /** No look begins any more; one on its way goes on. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }
}
