/** Looks at the repositories at once and then again and again (spec: model repository, section 8.1, mode poll). */
export class PollLoop {
  readonly #poll: () => Promise<void>;
  readonly #intervalMs: number;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  /** `poll` must not reject. `seconds`: from the end of one look to the next. */
  constructor(poll: () => Promise<void>, seconds: number) {
    this.#poll = poll;
    this.#intervalMs = seconds * 1000;
  }

  start(): void {
    if (this.#stopped) return;
    void this.#poll().then(() => {
      if (!this.#stopped) this.#timer = setTimeout(() => this.start(), this.#intervalMs);
    });
  }

  /** No look begins any more; one on its way goes on. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }
}
