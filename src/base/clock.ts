/**
 * Nanoseconds of the monotonic clock, the same in every thread of the process. A double holds them exactly for 104
 * days after boot and to 2 ns for years; no bigint is allocated per reading.
 */
export function nowNs(): number {
  const [seconds, nanos] = process.hrtime();
  return seconds * 1e9 + nanos;
}

/** A timer that was set; whether it keeps the process alive can be changed. */
export interface Timer {
  ref(): unknown;
  unref(): unknown;
}

/**
 * Time as the schedulers see it. They read clocks and set timers through this only, so that a simulation can run them
 * on a time of its own (test/support/engine/virtual-clock.ts).
 */
export interface Clock {
  /** Nanoseconds of a monotonic clock. */
  nowNs(): number;
  /**
   * Calls `run` once, no earlier than `ms` whole milliseconds from now; earlier only where they are more than 24 days, so
   * whoever waits that long looks at the time again.
   */
  setTimer(run: () => void, ms: number): Timer;
  /** Forgets a timer; nothing happens when it has fired or is undefined. */
  clearTimer(timer: Timer | undefined): void;
  /** Calls `run` at the end of the event loop's turn: everything that arrived with it has been seen then. */
  nextTurn(run: () => void): void;
  /** Calls `run` at the end of the current callback. */
  soon(run: () => void): void;
}

/** Node's timers run at once when they are set to more, which clients and configurations may ask for. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** The clock and the timers of the process. */
export const SYSTEM_CLOCK: Clock = {
  nowNs,
  setTimer: (run, ms) => setTimeout(run, Math.min(ms, MAX_TIMER_MS)),
  clearTimer: (timer) => clearTimeout(timer as NodeJS.Timeout | undefined),
  nextTurn: (run) => {
    setImmediate(run);
  },
  soon: queueMicrotask,
};
