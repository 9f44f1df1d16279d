import { type Clock, SYSTEM_CLOCK, type Timer } from '../../base/clock.js';

/** After this long a request goes on although the limit is reached: better too many than none. */
const PATIENCE_MS = 300_000;

/** A request that waits for its turn. */
export interface WaitingStep {
  /** Runs it whatever the limit; nothing when it runs already. */
  goOn(): void;
}

interface Waiting extends WaitingStep {
  timer: Timer | undefined;
}

/**
 * Bounds the requests of one step that are on their way, over all requests of the ensemble (`max_inflight_requests`).
 * Those beyond the limit wait in the order in which they came.
 */
export class StepLimiter {
  readonly #limit: number;
  readonly #impatient: (inFlight: number) => void;
  readonly #clock: Clock;
  readonly #waiting = new Set<Waiting>();
  #inFlight = 0;
  #granting = false;

  /** `impatient` is called when a request has waited so long that it goes on although the limit is reached. */
  constructor(limit: number, impatient: (inFlight: number) => void, clock: Clock = SYSTEM_CLOCK) {
    this.#limit = limit;
    this.#impatient = impatient;
    this.#clock = clock;
  }

  /** Runs a step at once or, returning a handle, when the limit allows it; each run asks for one `release`. */
  acquire(run: () => void): WaitingStep | undefined {
    if (this.#inFlight < this.#limit && this.#waiting.size === 0) {
      this.#inFlight++;
      run();
      return undefined;
    }
    const goOn = (): void => {
      if (!this.#waiting.delete(waiting)) return;
      this.#clock.clearTimer(waiting.timer);
      this.#inFlight++;
      run();
    };
    const waiting: Waiting = { goOn, timer: undefined };
    waiting.timer = this.#clock.setTimer(() => {
      this.#impatient(this.#inFlight);
      goOn();
    }, PATIENCE_MS);
    waiting.timer.unref();
    this.#waiting.add(waiting);
    return waiting;
  }

  /** A step that was run has ended. */
  release(): void {
    this.#inFlight--;
    // A step that its model refuses ends at once: the loop that is under way runs the next.
    if (this.#granting) return;
    this.#granting = true;
    try {
      for (const first of this.#waiting) {
        if (this.#inFlight >= this.#limit) break;
        first.goOn();
      }
    } finally {
      this.#granting = false;
    }
  }
}
