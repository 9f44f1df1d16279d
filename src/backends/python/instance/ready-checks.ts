import type { Log } from '../../../base/log.js';
import type { PythonProcess } from '../process/python-process.js';
import type { FrameReader } from '../wire/frame-reader.js';
import { FrameWriter } from '../wire/frame-writer.js';
import { ToModel } from '../wire/wire.js';

/** How long a model may take to say whether it is ready, in ms. */
const TIMEOUT_MS = 5000;

/** Asks a model's own `is_ready`; checks at the same time share one question. */
export class ReadyChecks {
  readonly #instance: string;
  readonly #log: Log;
  #asked: Promise<boolean> | undefined;
  #answer: ((ready: boolean, why: string) => void) | undefined;
  #number = 0;

  constructor(instance: string, log: Log) {
    this.#instance = instance;
    this.#log = log;
  }

  /** The model's response; false when it fails or takes too long. */
  ask(process: PythonProcess): Promise<boolean> {
    this.#asked ??= this.#ask(process).finally(() => {
      this.#asked = undefined;
    });
    return this.#asked;
  }

  /** Takes the process's response. */
  answered(frame: FrameReader): void {
    if (frame.u32() !== this.#number) return;
    const ready = frame.u8() === 1;
    this.#answer?.(ready, frame.text() || `Model '${this.#instance}' is not ready (user-defined check failed).`);
  }

  /** The process is gone. */
  abandon(): void {
    this.#answer?.(false, 'Stub process is not healthy while waiting for user-defined is_ready() response');
  }

  #ask(process: PythonProcess): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#answer?.(false, 'Timed out waiting for user-defined is_ready() response');
      }, TIMEOUT_MS);
      this.#answer = (ready, why) => {
        clearTimeout(timer);
        this.#answer = undefined;
        if (!ready) this.#log.verbose(1, why);
        resolve(ready);
      };
      const frame = new FrameWriter(ToModel.CHECK_READY, 8);
      this.#number = (this.#number + 1) >>> 0;
      frame.u32(this.#number);
      process.control(frame.finish());
    });
  }
}
