/** Lets a limited number of tasks run at the same time, the others wait in order. */
export class Semaphore {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(limit: number) {
    this.#free = Math.max(1, limit);
  }

  /** Runs the task when its turn comes. Rejects with the signal's reason when it is cancelled before. */
  async run<T>(task: () => Promise<T>, cancelled?: AbortSignal): Promise<T> {
    cancelled?.throwIfAborted();
    if (this.#free > 0) this.#free--;
    else await this.#turn(cancelled);
    try {
      return await task();
    } finally {
      const [next] = this.#waiting;
      if (next === undefined) this.#free++;
      else next();
    }
  }

  #turn(cancelled: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        this.#waiting.delete(begin);
        cancelled?.removeEventListener('abort', giveUp);
        resolve();
      };
      const giveUp = (): void => {
        this.#waiting.delete(begin);
        reject(cancelled?.reason);
      };
      cancelled?.addEventListener('abort', giveUp, { once: true });
      this.#waiting.add(begin);
    });
  }
}
