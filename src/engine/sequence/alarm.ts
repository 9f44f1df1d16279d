import type { Clock, Timer } from '../../base/clock.js';

/** A timer that goes off at the earliest of the points in time it was set to; it has to be set again then. */
export class Alarm {
  readonly #clock: Clock;
  readonly #fire: () => void;
  #timer: Timer | undefined;
  #atNs = Number.POSITIVE_INFINITY;

  constructor(clock: Clock, onTime: () => void) {
    this.#clock = clock;
    this.#fire = () => {
      this.#atNs = Number.POSITIVE_INFINITY;
      onTime();
    };
  }

  /** Sets it to a point in time, in ns; 0 = none. `keeps`: it keeps the process alive until then. */
  set(atNs: number, keeps: boolean): void {
    if (atNs === 0 || atNs >= this.#atNs) return;
    this.#clock.clearTimer(this.#timer);
    this.#atNs = atNs;
    this.#timer = this.#clock.setTimer(this.#fire, Math.max(1, Math.ceil((atNs - this.#clock.nowNs()) / 1e6)));
    if (!keeps) this.#timer.unref();
  }

  /** From now on it keeps the process alive. */
  keep(): void {
    this.#timer?.ref();
  }

  close(): void {
    this.#clock.clearTimer(this.#timer);
  }
}
