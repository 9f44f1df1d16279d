import { setTimeout as sleep } from 'node:timers/promises';
import { nowNs } from '../../base/clock.js';
import type { InferenceServerClient, ModelStatistics } from '../../client/index.js';
import { messageOf } from '../error/message-of.js';
import { PerfError } from '../error/perf-error.js';
import type { LoadGenerator } from '../load/load-generator.js';
import type { CollectedLoad, WorkerFailure } from '../load/load-messages.js';
import { MachineLoad } from '../load/machine-load.js';
import { stabilizingNs } from '../measure/latency.js';
import type { MetricsPoller } from '../measure/metrics-poller.js';
import { splitAtWindow } from '../measure/records.js';
import { serverStatsBetween } from '../measure/server-stats.js';
import {
  isOverLimit,
  isStable,
  isThroughputStable,
  STABILITY_WINDOWS,
  type StabilitySpread,
  spreadOf,
} from '../measure/stability.js';
import type { ClientCounters, WindowResult } from '../measure/window.js';
import { computeWindow, mergeWindows } from '../measure/window.js';
import type { PerfModel } from '../model/perf-model.js';
import type { PerfOptions } from '../options/perf-options.js';
import type { LevelDetails } from './measured-level.js';

/** How much longer than the measurement interval a time window lasts. */
const WINDOW_FACTOR = 1.2;
/** How often a count window looks at the count. */
const COUNT_POLL_MS = 1000;
/** A load thread above this utilisation limits the load. */
const BUSY_THREAD = 0.9;
/** Idle processors from which on another thread helps. */
const FREE_CORES = 0.5;

/** How a level went. */
export interface LevelOutcome {
  readonly stable: boolean;
  /** How far the last windows lie apart. */
  readonly spread: StabilitySpread;
  /** The merged windows; of a level that is not stable only with --keep-going. */
  readonly result: WindowResult | undefined;
}

/** What the meter needs of its surroundings. */
export interface MeterContext {
  readonly options: PerfOptions;
  readonly model: PerfModel;
  readonly client: InferenceServerClient;
  readonly headers: Readonly<Record<string, string>>;
  /** False when the server has no statistics. */
  readonly serverStatistics: boolean;
  /** Where the server's metrics are read; undefined when they are not wanted. */
  readonly poller: MetricsPoller | undefined;
  /** True once the user asked to stop. */
  interrupted(): boolean;
  warn(line: string): void;
  /** Called after every window, in order from 1; a failed one comes as its error. */
  onWindow(index: number, window: WindowResult | PerfError): void;
}

/** Measures levels: windows one after the other until they are stable (inference_profiler.cc of perf_analyzer). */
export class LevelMeter {
  readonly #context: MeterContext;
  readonly #generator: LoadGenerator;
  readonly #machine = new MachineLoad();
  /** Ended after the window before. */
  #later: readonly Float64Array[] = [];
  #collected: CollectedLoad[] = [];
  #lastStats: readonly ModelStatistics[] = [];
  #windowStartNs = 0;

  constructor(context: MeterContext, generator: LoadGenerator) {
    this.#context = context;
    this.#generator = generator;
  }

  /**
   * Applies the load with `apply` and measures it. Throws the PerfError that ends the whole run; details go to
   * `details`.
   */
  async measure(apply: () => Promise<void>, isFresh: boolean, details: LevelDetails): Promise<LevelOutcome> {
    const { poller } = this.#context;
    await poller?.start();
    try {
      return await this.#measureLoad(apply, isFresh, details);
    } finally {
      poller?.stop();
    }
  }

  async #measureLoad(apply: () => Promise<void>, isFresh: boolean, details: LevelDetails): Promise<LevelOutcome> {
    await this.#begin(apply, isFresh);
    details.boundariesNs.push(this.#windowStartNs);
    const { options } = this.#context;
    const throughputs: number[] = [];
    const latenciesNs: number[] = [];
    const windows: (WindowResult | PerfError)[] = [];
    const trials = options.load.requestCount > 0 ? 1 : options.measure.maxTrials;
    const limitMs = options.measure.latencyThreshold;
    while (windows.length < trials) {
      this.#checkHealth();
      const window = await this.#window(details);
      windows.push(window);
      if (!this.#context.interrupted()) this.#context.onWindow(windows.length, window);
      throughputs.push(window instanceof PerfError ? 0 : window.throughput);
      latenciesNs.push(
        window instanceof PerfError
          ? Number.POSITIVE_INFINITY
          : stabilizingNs(window.latency, options.measure.percentile),
      );
      const history = { throughputs, latenciesNs };
      if (this.#context.interrupted()) throw new PerfError('Received exit signal.', { emptyLines: 0 });
      if (options.load.requestCount > 0) break;
      if (isStable(history, options.measure.stabilityThreshold) || isOverLimit(history, limitMs)) break;
      await this.#growIfNeeded(window);
    }
    const last = windows.slice(-STABILITY_WINDOWS);
    const fault = last.find((window) => window instanceof PerfError);
    if (fault !== undefined) throw fault;
    const good = last as WindowResult[];
    let stable =
      options.load.requestCount > 0 || isStable({ throughputs, latenciesNs }, options.measure.stabilityThreshold);
    if (
      !stable &&
      options.load.async &&
      isThroughputStable({ throughputs, latenciesNs }, options.measure.stabilityThreshold)
    ) {
      this.#context.warn('Warning: Request latency is not stabilizing. Please try lowering the request rate.');
      stable = true;
    }
    return {
      stable,
      spread: spreadOf({ throughputs, latenciesNs }),
      result:
        stable || options.measure.keepGoing
          ? mergeWindows(good, options.measure.percentile, (line) => this.#context.warn(line))
          : undefined,
    };
  }

  /** The server's statistics are read before a new load begins, so that not one of its requests is missed. */
  async #begin(apply: () => Promise<void>, isFresh: boolean): Promise<void> {
    this.#later = [];
    if (isFresh) {
      this.#lastStats = await this.#statistics();
      await this.#generator.collect();
      this.#collected = [];
      this.#windowStartNs = nowNs();
      await apply();
    } else {
      await apply();
      this.#lastStats = await this.#statistics();
      await this.#generator.collect();
      this.#collected = [];
      this.#windowStartNs = nowNs();
    }
    this.#machine.idleCores();
  }

  /** One window: waits, closes it, computes it. Faults that concern only this window are its result. */
  async #window(details: LevelDetails): Promise<WindowResult | PerfError> {
    const { options, model } = this.#context;
    if (options.measure.measurementMode === 'time_windows')
      await sleep(options.measure.measurementInterval * WINDOW_FACTOR);
    else await this.#untilCount();
    const startNs = this.#windowStartNs;
    const endNs = nowNs();
    this.#windowStartNs = endNs;
    details.boundariesNs.push(endNs);
    const gpuPolls = this.#context.poller?.take();
    try {
      const before = this.#lastStats;
      const [stats, collected] = await Promise.all([this.#statistics(), this.#generator.collect()]);
      this.#lastStats = stats;
      this.#collected.push(...collected);
      const parts = this.#collected;
      this.#collected = [];
      for (const part of parts) for (const detail of part.details) details.requests.push(detail);
      const { inside, later } = splitAtWindow([...this.#later, ...parts.map((part) => part.records)], startNs, endNs);
      this.#later = later;
      // A window without a request reports that; that the server counted none either says nothing more.
      const counted = this.#context.serverStatistics && inside.length > 0;
      const server = counted ? serverStatsBetween(before, stats, model, (line) => this.#context.warn(line)) : undefined;
      const workers = Math.max(
        1,
        collected.reduce((sum, part) => sum + part.workers, 0),
      );
      const busyNs = sumOf(parts, (part) => part.busyNs);
      return computeWindow(
        {
          startNs,
          endNs,
          batchSize: options.input.batchSize,
          percentile: options.measure.percentile,
          records: inside,
          counters: sumCounters(parts),
          overheadPercent: Math.min(100, (100 * busyNs) / (workers * (endNs - startNs))),
          utilization: options.load.requestCount > 0 ? 0 : Math.max(0, ...collected.map((part) => part.utilization)),
          server,
          gpuPolls,
        },
        (line) => this.#context.warn(line),
      );
    } catch (reason) {
      if (reason instanceof PerfError) return reason;
      return new PerfError(messageOf(reason));
    }
  }

  /** Waits until the number of requests that the options ask for were completed; at least one period. */
  async #untilCount(): Promise<void> {
    const { options } = this.#context;
    let count = this.#later.length;
    do {
      await sleep(COUNT_POLL_MS);
      const collected = await this.#generator.collect();
      this.#collected.push(...collected);
      count += sumOf(collected, (part) => part.counters.completed);
      if (this.#context.interrupted()) return;
      this.#checkHealth();
    } while (count < options.measure.measurementRequestCount);
  }

  async #statistics(): Promise<readonly ModelStatistics[]> {
    const { client, model, headers, serverStatistics } = this.#context;
    if (!serverStatistics) return [];
    if (model.composing.size > 0) return client.modelStatistics('', '', { headers });
    return client.modelStatistics(model.name, model.version, { headers });
  }

  #checkHealth(): void {
    const fault = loadFault(this.#generator.failures);
    if (fault !== undefined) throw fault;
  }

  /** Adds a load thread when the threads are what limits the load and there are processors to spare. */
  async #growIfNeeded(window: WindowResult | PerfError): Promise<void> {
    const idle = this.#machine.idleCores();
    if (window instanceof PerfError || window.utilization < BUSY_THREAD) return;
    if (this.#generator.canGrow && idle >= FREE_CORES) await this.#generator.grow();
  }
}

/** The error of a load that could not be kept up; undefined while no worker has failed. */
export function loadFault(failures: readonly WorkerFailure[]): PerfError | undefined {
  const [first] = failures;
  if (first === undefined) return undefined;
  const head =
    first.kind === 'submit'
      ? 'Failed to maintain requested inference load. Worker thread(s) failed to generate concurrent requests.'
      : 'Failed to retrieve results from inference request.';
  const lines = [...failures]
    .sort((a, b) => a.worker - b.worker)
    .map(({ worker, message }) => `Thread [${worker}] had error: ${messageOf(new Error(message))}\n`);
  return new PerfError([head, ...lines].join('\n'));
}

function sumOf<T>(values: readonly T[], pick: (value: T) => number): number {
  return values.reduce((sum, value) => sum + pick(value), 0);
}

function sumCounters(parts: readonly CollectedLoad[]): ClientCounters {
  return {
    completed: sumOf(parts, (part) => part.counters.completed),
    requestNs: sumOf(parts, (part) => part.counters.requestNs),
    sendNs: sumOf(parts, (part) => part.counters.sendNs),
    receiveNs: sumOf(parts, (part) => part.counters.receiveNs),
    sent: sumOf(parts, (part) => part.counters.sent),
  };
}
