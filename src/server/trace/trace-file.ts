import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import type { Log } from '../../engine/log.js';

/** The trace file and its numbered companions (spec: runtime, section 9.3). */
export class TraceFile {
  readonly path: string;
  readonly #log: Log;
  #index = 0;
  #file: number | undefined;
  #failed = false;

  constructor(path: string, log: Log) {
    this.path = path;
    this.#log = log;
  }

  /** Writes traces, which are separated by commas, as the next numbered file: an array of its own. */
  saveNumbered(traces: string): void {
    const path = `${this.path}.${this.#index++}`;
    this.#attempt(path, () => writeFileSync(path, `[${traces}]`));
  }

  /** Adds traces to the file itself, which is complete once it is closed. What was there before the start is gone. */
  append(traces: string): void {
    if (this.#failed) return;
    this.#attempt(this.path, () => {
      const first = this.#file === undefined;
      this.#file ??= openSync(this.path, 'w');
      writeSync(this.#file, (first ? '[' : ',') + traces);
    });
  }

  close(): void {
    const file = this.#file;
    if (file === undefined) return;
    this.#file = undefined;
    this.#attempt(this.path, () => {
      writeSync(file, ']');
      closeSync(file);
    });
  }

  #attempt(path: string, write: () => void): void {
    try {
      write();
    } catch (reason) {
      this.#failed = path === this.path;
      this.#log.error(`failed creating trace file: ${(reason as Error).message}`);
    }
  }
}
