import { formatG } from '../../base/format-g.js';
import type { PerfError } from '../error/perf-error.js';
import type { LevelListener } from '../levels/level-run.js';
import type { WindowResult } from '../measure/window.js';
import { SATURATED, usec } from './level-report.js';

/** Shows how the levels of a run go on. */
export type Progress = Pick<LevelListener, 'levelStarted' | 'windowMeasured' | 'levelEnded'>;

/** Shows nothing. */
export const SILENT: Progress = {
  levelStarted() {},
  windowMeasured() {},
  levelEnded() {},
};

/** Shows every window in one line of a terminal (or in lines of its own elsewhere), and what limits the figures. */
export class TerminalProgress implements Progress {
  readonly #stream: NodeJS.WriteStream;
  readonly #name: string;
  #level = 0;

  /** `name`: what a level is, e.g. `Concurrency`. */
  constructor(stream: NodeJS.WriteStream, name: string) {
    this.#stream = stream;
    this.#name = name.toLowerCase();
  }

  levelStarted(level: number): void {
    this.#level = level;
    this.#show('measuring');
  }

  windowMeasured(index: number, window: WindowResult | PerfError): void {
    if (window instanceof Error) this.#show(`window ${index}: ${window.message}`);
    else {
      const latency = usec(window.latency.averageNs);
      this.#show(`window ${index}: ${formatG(window.throughput)} infer/sec, ${latency} usec`);
    }
  }

  levelEnded(level: number, result: WindowResult | undefined, threads: number): void {
    if (this.#stream.isTTY) this.#stream.write('\r\x1b[K');
    if (result === undefined || result.utilization < SATURATED) return;
    const percent = Math.round(result.utilization * 100);
    this.#stream.write(
      `triton perf: at ${this.#name} ${formatG(level)} the load itself was the limit: its busiest of ${threads} thread(s) worked ${percent} % of the time. Measure from a machine with more free processors.\n`,
    );
  }

  #show(state: string): void {
    const line = `${this.#name} ${formatG(this.#level)}: ${state}`;
    this.#stream.write(this.#stream.isTTY ? `\r\x1b[K${line}` : `${line}\n`);
  }
}
