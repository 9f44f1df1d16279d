import { request } from 'undici';
import { PerfError } from '../error/perf-error.js';
import { GPU_METRICS, type GpuPoll, parseGpuMetrics } from './gpu-metrics.js';

/** Asks a metrics endpoint again and again while a level is measured. */
export class MetricsPoller {
  readonly #url: string;
  readonly #intervalMs: number;
  readonly #warn: (line: string) => void;
  #polls: GpuPoll[] = [];
  #timer: NodeJS.Timeout | undefined;
  #abort = new AbortController();
  #fault: PerfError | undefined;
  #warnedMissing = false;
  #warnedSlow = false;

  /** `url` may stand without a scheme, as curl takes it. */
  constructor(url: string, intervalMs: number, warn: (line: string) => void) {
    this.#url = url;
    this.#intervalMs = intervalMs;
    this.#warn = warn;
  }

  /** Looks for the first time, then at every interval. Rejects with a PerfError when the endpoint cannot be read. */
  async start(): Promise<void> {
    this.#abort = new AbortController();
    this.#polls = [];
    await this.#poll();
    this.#schedule();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#abort.abort();
  }

  /** Everything seen since the last time. Throws what went wrong meanwhile. */
  take(): readonly GpuPoll[] {
    if (this.#fault !== undefined) throw this.#fault;
    return this.#polls.splice(0);
  }

  #schedule(): void {
    this.#timer = setTimeout(() => {
      this.#poll().then(
        () => {
          if (!this.#abort.signal.aborted) this.#schedule();
        },
        (reason: unknown) => {
          if (!this.#abort.signal.aborted) this.#fault = reason as PerfError;
        },
      );
    }, this.#intervalMs);
  }

  async #poll(): Promise<void> {
    const begin = performance.now();
    const poll = parseGpuMetrics(await this.#read());
    const tookMs = Math.floor(performance.now() - begin);
    this.#polls.push(poll);
    if (!this.#warnedMissing) {
      for (const metric of GPU_METRICS) {
        if (poll[metric].size === 0) this.#warn(`WARNING: Unable to parse '${metric}' metric.`);
      }
      this.#warnedMissing = true;
    }
    if (tookMs > this.#intervalMs && !this.#warnedSlow) {
      this.#warnedSlow = true;
      this.#warn(
        `WARNING: Triton metrics endpoint latency (${tookMs}ms) is larger than the querying interval (${this.#intervalMs}ms). Please try a larger querying interval via \`--triton-metrics-interval\`.`,
      );
    }
  }

  async #read(): Promise<string> {
    const url = /^https?:\/\//.test(this.#url) ? this.#url : `http://${this.#url}`;
    let status: number;
    let body: string;
    try {
      const response = await request(url, { signal: this.#abort.signal });
      status = response.statusCode;
      body = await response.body.text();
    } catch {
      throw new PerfError(`Unable to connect to Metrics endpoint ${this.#url}`);
    }
    if (status !== 200) throw new PerfError('Metrics endpoint curling did not succeed.');
    return body;
  }
}
