/** What a message may inflate to without waiting for its turn. */
const SMALL = 16 * 1024 * 1024;

/**
 * Large messages are inflated one after the other: each may become hundreds of times what was sent, and a bomb is only
 * known as one when it reaches its limit. So what all peers together make the process hold while it inflates is one such
 * message, and the small beginnings of those that wait.
 */
class Turns {
  #busy = false;
  readonly #waiting = new Set<() => void>();

  /** Calls `begin` when it is this one's turn, at once if nobody else has it. */
  take(begin: () => void): void {
    if (this.#busy) this.#waiting.add(begin);
    else {
      this.#busy = true;
      begin();
    }
  }

  /** Ends a turn. */
  end(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#busy = false;
    else {
      this.#waiting.delete(next);
      next();
    }
  }

  /** Waits no longer. */
  forget(begin: () => void): void {
    this.#waiting.delete(begin);
  }
}

const turns = new Turns();

/** One message's part in it. Whoever makes one calls `end` when the inflating is over, however it ended. */
export class InflationTurn {
  #state: 'small' | 'waiting' | 'large' | 'ended' = 'small';
  readonly #pause: () => void;
  readonly #begin: () => void;

  /** `pause` holds the inflater, `resume` lets it go on. */
  constructor(pause: () => void, resume: () => void) {
    this.#pause = pause;
    this.#begin = () => {
      this.#state = 'large';
      resume();
    };
  }

  /** So many bytes have come out. Pauses the inflater when it has to wait for its turn to make more. */
  made(size: number): void {
    if (this.#state !== 'small' || size <= SMALL) return;
    this.#state = 'waiting';
    this.#pause();
    turns.take(this.#begin);
  }

  end(): void {
    const state = this.#state;
    this.#state = 'ended';
    if (state === 'waiting') turns.forget(this.#begin);
    if (state === 'large') turns.end();
  }
}
