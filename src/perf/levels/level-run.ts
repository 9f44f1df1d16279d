import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatG } from '../../base/format-g.js';
import type { InferenceServerClient } from '../../client/index.js';
import type { PerfError } from '../error/perf-error.js';
import type { InputData } from '../input/input-data.js';
import { type LoadPlan, type PlanContext, planOf, rateOfIntervals, readIntervals } from '../load/assignments.js';
import { LoadGenerator } from '../load/load-generator.js';
import type { LoadSetup } from '../load/load-messages.js';
import { setTrace } from '../load/set-trace.js';
import { stabilizingNs } from '../measure/latency.js';
import { MetricsPoller } from '../measure/metrics-poller.js';
import type { StabilitySpread } from '../measure/stability.js';
import type { WindowResult } from '../measure/window.js';
import { isSequenceModel, type PerfModel } from '../model/perf-model.js';
import type { PerfOptions } from '../options/perf-options.js';
import { LevelMeter, loadFault } from './level-meter.js';
import type { ExportedLevel, LevelMark, ReportedLevel } from './measured-level.js';
import { type LevelVerdict, type SweepEnd, searchLevels } from './search-levels.js';

/** How often the warm-up looks at the number of its requests, milliseconds. */
const WARM_UP_POLL_MS = 20;

/** What a measurement works with once the model, its data and the regions are there. */
export interface Measurement {
  readonly options: PerfOptions;
  readonly model: PerfModel;
  readonly data: InputData;
  readonly setup: LoadSetup;
  readonly client: InferenceServerClient;
  readonly headers: Readonly<Record<string, string>>;
  /** False when the server has no statistics. */
  readonly serverStatistics: boolean;
}

/** Hears how the levels go on, and stops them. */
export interface LevelListener {
  /** A line to stdout. */
  print(line: string): void;
  /** A line to stderr. */
  warn(line: string): void;
  /** True once the user asked to stop. */
  interrupted(): boolean;
  levelStarted(level: number): void;
  /** Called after every window of a level, in order from 1; a failed one comes as its error. */
  windowMeasured(index: number, window: WindowResult | PerfError): void;
  /** A level that is reported. */
  levelReported(level: ReportedLevel): void;
  /** `result` is absent for a level that was not stable; `threads` = load threads that were used. */
  levelEnded(level: number, result: WindowResult | undefined, threads: number): void;
}

/** The levels of one run: the load, the meter, and what was found. */
export class LevelRun {
  readonly levels: ReportedLevel[] = [];
  /** Every level that was begun, for the profile export. */
  readonly exported: ExportedLevel[] = [];
  /** True once a level that is reported is marked. */
  marked = false;
  /** How far the windows of the level measured last lie apart. */
  spread: StabilitySpread | undefined;
  readonly #measurement: Measurement;
  readonly #listener: LevelListener;
  readonly #plans: PlanContext;
  #generator: LoadGenerator | undefined;
  #meter: LevelMeter | undefined;
  /** Connection contexts that workers have opened so far. */
  #contexts = 0;

  constructor(measurement: Measurement, listener: LevelListener) {
    const { options, model, data } = measurement;
    this.#measurement = measurement;
    this.#listener = listener;
    const intervalsNs =
      options.load.loadMode === 'CustomIntervals' ? readIntervals(options.load.requestIntervalsFile) : [];
    this.#plans = { options, data, isSequence: isSequenceModel(model), intervalsNs };
  }

  /** Measures the levels that the options ask for; resolves with the end of a sweep. */
  async measure(): Promise<SweepEnd | undefined> {
    const { options } = this.#measurement;
    const isInteger = options.load.loadMode === 'Concurrency';
    const range = isInteger ? options.load.concurrency : options.load.requestRate;
    return searchLevels({ ...options.load, ...options.measure }, range, isInteger, (level) =>
      this.#measureLevel(level),
    );
  }

  /** Ends the load. */
  async close(): Promise<void> {
    const generator = this.#generator;
    this.#generator = undefined;
    await generator?.stop();
  }

  async #measureLevel(level: number): Promise<LevelVerdict> {
    const { options } = this.#measurement;
    const { intervalsNs, isSequence } = this.#plans;
    const listener = this.#listener;
    const shown = options.load.loadMode === 'CustomIntervals' ? rateOfIntervals(intervalsNs) : level;
    const isFresh = this.#meter === undefined || isSequence;
    const { meter, generator } = await this.#ready(level);
    this.#announce(level);
    listener.levelStarted(shown);
    const details: ExportedLevel = { level: shown, requests: [], boundariesNs: [] };
    this.exported.push(details);
    const load = planOf(this.#plans, level, options.load.requestCount, 'measure');
    await this.#setTraceAgain(load);
    const { result, stable, spread } = await meter.measure(() => generator.apply(load), isFresh, details);
    this.spread = spread;
    const verdict = this.#judge(level, stable, result && stabilizingNs(result.latency, options.measure.percentile));
    const mark: LevelMark | undefined = verdict.met ? undefined : verdict.overLimit ? 'over limit' : 'unstable';
    if (mark !== undefined && options.measure.keepGoing) this.marked = true;
    if ((verdict.met || options.measure.keepGoing) && result !== undefined) {
      const reported: ReportedLevel = { level: shown, result, mark };
      listener.levelReported(reported);
      this.levels.push(reported);
    }
    listener.levelEnded(shown, result, generator.threads);
    return verdict;
  }

  /** The meter and the load, begun with a warm-up before the first level. */
  async #ready(level: number): Promise<{ readonly meter: LevelMeter; readonly generator: LoadGenerator }> {
    const { options } = this.#measurement;
    if (this.#generator === undefined || this.#meter === undefined) {
      if (options.load.warmupRequestCount > 0) await this.#warmUp(level);
      this.#generator = await this.#startLoad();
      this.#meter = this.#newMeter(this.#generator);
    }
    return { meter: this.#meter, generator: this.#generator };
  }

  #startLoad(): Promise<LoadGenerator> {
    const { options, setup } = this.#measurement;
    // One thread gives out all sequence ids.
    const most = this.#plans.isSequence ? 1 : Math.min(availableParallelism(), options.load.maxThreads);
    return LoadGenerator.start(setup, Math.max(1, most));
  }

  #newMeter(generator: LoadGenerator): LevelMeter {
    const { options } = this.#measurement;
    const { warn, interrupted, windowMeasured } = this.#listener;
    const poller = options.connection.collectMetrics
      ? new MetricsPoller(options.connection.metricsUrl, options.connection.metricsInterval, warn)
      : undefined;
    return new LevelMeter({ ...this.#measurement, poller, interrupted, warn, onWindow: windowMeasured }, generator);
  }

  /** Sends the requests that are not measured, with load threads of their own. */
  async #warmUp(level: number): Promise<void> {
    const { options, setup } = this.#measurement;
    const { warn, interrupted } = this.#listener;
    const count = options.load.warmupRequestCount;
    if (options.load.loadMode === 'Concurrency') {
      if (level > count) {
        warn(
          'WARNING: The number of concurrent requests exceeds the warmup request count. Adjusting warmup concurrency to match the warmup request count.',
        );
      }
      this.#announce(Math.min(level, count));
    }
    const generator = await LoadGenerator.start(setup, 1);
    try {
      await generator.apply(planOf(this.#plans, level, count, 'warmup'));
      let completed = 0;
      while (completed < count && !interrupted()) {
        await sleep(WARM_UP_POLL_MS);
        for (const part of await generator.collect()) completed += part.counters.completed;
        const fault = loadFault(generator.failures);
        if (fault !== undefined) throw fault;
      }
    } finally {
      await generator.stop();
    }
  }

  /** Every context of perf_analyzer is a client of its own, and every client sets the trace when it is made. */
  async #setTraceAgain(load: LoadPlan): Promise<void> {
    const { options, client, headers } = this.#measurement;
    if (options.connection.trace.size === 0) return;
    const contexts = load.reduce((sum, { slots }) => sum + (this.#plans.isSequence ? slots : 1), 0);
    for (; this.#contexts < contexts; this.#contexts++) await setTrace(options.connection, client, headers);
  }

  /** Whether the level counts; reports why it does not. */
  #judge(level: number, stable: boolean, valueNs: number | undefined): LevelVerdict {
    const { options } = this.#measurement;
    const { warn } = this.#listener;
    const limit = options.measure.latencyThreshold;
    if (limit !== 0 && valueNs !== undefined && Math.floor(valueNs / 1e6) >= limit) {
      warn(`Measured latency went over the set limit of ${limit} msec. `);
      return { met: false, stable, overLimit: true };
    }
    if (stable) return { met: true, stable, overLimit: false };
    if (options.load.loadMode !== 'Concurrency') warn('Failed to obtain stable measurement.');
    else {
      const option = options.measure.measurementMode === 'time_windows' ? 'interval' : 'request-count';
      warn(
        `Failed to obtain stable measurement within ${options.measure.maxTrials} measurement windows for concurrency ${formatG(level)}. Please try to increase the --measurement-${option}.`,
      );
    }
    return { met: false, stable, overLimit: false };
  }

  #announce(level: number): void {
    const { print } = this.#listener;
    const { loadMode } = this.#measurement.options.load;
    if (loadMode === 'Concurrency') print(`Request concurrency: ${level}`);
    else if (loadMode === 'RequestRate') print(`Request Rate: ${formatG(level)} inference requests per second`);
  }
}
