import type { Log } from '../../../base/log.js';

/** An error that comes again within this time is only counted, in ms. */
const WINDOW_MS = 60_000;

/** Distinct errors that are logged within that time; further ones are only counted. */
const MOST_ERRORS = 32;

/**
 * Logs errors that clients can cause as often as they like: each distinct one once a minute, with how often it came again
 * at the end of that minute.
 */
export class RepeatedErrors {
  readonly #log: Log;
  /** Errors of the current minute, and how often each came after it was logged. */
  readonly #again = new Map<string, number>();
  /** Errors that were not logged, because there were too many different ones. */
  #others = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  report(text: string): void {
    const again = this.#again.get(text);
    if (again !== undefined) {
      this.#again.set(text, again + 1);
      return;
    }
    if (this.#again.size >= MOST_ERRORS) {
      this.#others++;
      return;
    }
    this.#log.error(text);
    this.#again.set(text, 0);
    this.#timer ??= setTimeout(() => this.flush(), WINDOW_MS).unref();
  }

  /** Reports the counts and begins again. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const [text, again] of this.#again) {
      if (again > 0) this.#log.error(`${again} more times within a minute: ${text.split('\n', 1)[0]}`);
    }
    if (this.#others > 0) this.#log.error(`${this.#others} more errors of other texts within a minute`);
    this.#again.clear();
    this.#others = 0;
  }
}
