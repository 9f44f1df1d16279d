/** Starts a process again after it died: the one place that does, with pauses that grow and a limit. */

import { TritonError } from '../../../base/error.js';
import type { Log } from '../../../base/log.js';

/** Pause before the second start in a row, in ms; each further one is twice as long. The first start has none. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;

/** Backend setting: starts in a row without an executed batch, after which an instance stays down. */
export const RESTART_LIMIT_KEY = 'restart-limit';
export const DEFAULT_RESTART_LIMIT = 10;

/** Restarts of one instance. */
export class RestartSchedule {
  readonly #name: string;
  readonly #limit: number;
  readonly #begin: () => Promise<void>;
  readonly #log: Log;
  /** Deaths and failed starts since the last executed batch. */
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;
  /** The start that is being waited for or made. */
  #pending: Promise<void> | undefined;
  #stopped = false;

  /** `begin` makes one start and rejects with why it failed. */
  constructor(name: string, limit: number, begin: () => Promise<void>, log: Log) {
    this.#name = name;
    this.#limit = limit;
    this.#begin = begin;
    this.#log = log;
  }

  /** The start that is being made; undefined while none is, also during a pause. */
  get starting(): Promise<void> | undefined {
    return this.#pending;
  }

  /** Waits for the start that is being made, if there is one, for `limitMs` at most. */
  async settled(limitMs: number): Promise<void> {
    if (this.#pending === undefined) return;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, limitMs);
    });
    await Promise.race([this.#pending, late]);
    clearTimeout(timer);
  }

  /** A batch was executed: the next death is the first again. */
  worked(): void {
    this.#failures = 0;
  }

  /** The process is gone although it should serve. */
  died(): void {
    if (this.#stopped || this.#timer !== undefined || this.#pending !== undefined) return;
    const failures = this.#failures++;
    if (failures >= this.#limit) {
      this.#log.error(
        `'${this.#name}' stays down: its process ended ${failures + 1} times in a row before it executed a batch. Load ` +
          `the model again once the cause is removed (--backend-config=python,${RESTART_LIMIT_KEY}=${this.#limit}).`,
      );
      return;
    }
    const pause = failures === 0 ? 0 : Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - 1));
    if (pause === 0) this.#start();
    else this.#timer = setTimeout(() => this.#start(), pause).unref();
  }

  /** No start begins any more. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #start(): void {
    this.#timer = undefined;
    if (this.#stopped) return;
    this.#pending = this.#begin().then(
      () => {
        this.#pending = undefined;
      },
      (reason: unknown) => {
        this.#pending = undefined;
        if (this.#stopped) return;
        this.#log.error(`cannot start '${this.#name}' again: ${TritonError.from(reason).message}`);
        this.died();
      },
    );
  }
}
