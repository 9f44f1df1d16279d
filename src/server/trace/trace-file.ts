import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import type { Log } from '../../engine/log.js';

/** The trace file and its numbered companions (spec: runtime, section 9.3). */
export class TraceFile {
  readonly path: string;
  readonly #log: Log;
  #index = 0;
  #file: number | undefined;
  /** Could not be written, or is complete: nothing more goes to the file. */
  #ended = false;

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
    if (this.#ended) return;
    this.#attempt(this.path, () => {
      const first = this.#file === undefined;
      this.#file ??= openSync(this.path, 'w');
      writeSync(this.#file, (first ? '[' : ',') + traces);
    });
  }

  close(): void {
    this.#ended = true;
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
      if (path === this.path) this.#ended = true;
      this.#log.error(`failed creating trace file: ${(reason as Error).message}`);
    }
  }
}
