import { CountDown } from './shutdown.js';

/** The wish to stop, which may come at any time, also while models are being loaded; the exit timeout counts from it. */
export class StopRequest {
  readonly #controller = new AbortController();
  readonly #seconds: number;
  #countDown: CountDown | undefined;

  /** `seconds`: the exit timeout. */
  constructor(seconds: number) {
    this.#seconds = seconds;
  }

  /** Aborted by the first call of `begin`. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The time that the stop may still take; undefined before `begin`. */
  get countDown(): CountDown | undefined {
    return this.#countDown;
  }

  /** Asks for the stop; further calls have no effect. */
  begin(): void {
    this.#countDown ??= new CountDown(this.#seconds);
    this.#controller.abort();
  }
}
