import { closeSync, constants, openSync, writeFileSync } from 'node:fs';
import type { Log } from '../../base/log.js';

/** A pipe as the trace file never blocks: it has a reader and room, or it fails. */
const FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NONBLOCK;

/** The trace file, and the numbered files beside it: each is a JSON array of traces. */
export class TraceFile {
  readonly path: string;
  readonly #log: Log;
  #index = 0;
  #file: number | undefined;
  /** Could not be written, or is complete: nothing more goes to the file. */
  #ended = false;
  /** The last numbered file could not be written: one line of the log is enough for all that follow. */
  #failing = false;

  constructor(path: string, log: Log) {
    this.path = path;
    this.#log = log;
  }

  /** Writes traces, which are separated by commas, as the next numbered file: an array of its own. */
  saveNumbered(traces: string): void {
    const path = `${this.path}.${this.#index++}`;
    this.#attempt(path, () => this.#save(path, `[${traces}]`));
  }

  /** Adds traces to the file itself, which is complete once it is closed. What was there before the start is gone. */
  append(traces: string): void {
    if (this.#ended) return;
    this.#attempt(this.path, () => {
      const first = this.#file === undefined;
      this.#file ??= openSync(this.path, FLAGS);
      // Of all ways to write only this one goes on after a write that took a part.
      writeFileSync(this.#file, (first ? '[' : ',') + traces);
    });
  }

  close(): void {
    this.#ended = true;
    const file = this.#file;
    if (file === undefined) return;
    this.#file = undefined;
    this.#attempt(this.path, () => {
      try {
        writeFileSync(file, ']');
      } finally {
        closeSync(file);
      }
    });
  }

  #save(path: string, text: string): void {
    const file = openSync(path, FLAGS);
    try {
      writeFileSync(file, text);
    } finally {
      closeSync(file);
    }
  }

  #attempt(path: string, write: () => void): void {
    try {
      write();
      this.#failing = false;
    } catch (reason) {
      if (path === this.path) this.#ended = true;
      if (!this.#failing) this.#log.error(`failed creating trace file: ${(reason as Error).message}`);
      this.#failing = true;
    }
  }
}
