import { availableParallelism } from 'node:os';
import { nowNs } from '../base/clock.js';
import type { InferenceServerClient } from '../client/index.js';
import { createClient } from '../client/index.js';
import { PerfError, PerfExit, startUpError } from './error/perf-error.js';
import type { InputData } from './input/input-data.js';
import { readInputData } from './input/read-input-data.js';
import { LevelMeter, loadFault } from './levels/level-meter.js';
import { type LevelVerdict, searchLevels } from './levels/search-levels.js';
import {
  concurrencyPlan,
  fixedPlan,
  intervalsPlan,
  type LoadPlan,
  rateOfIntervals,
  ratePlan,
  readIntervals,
} from './load/assignments.js';
import { LoadGenerator } from './load/load-generator.js';
import type { LoadSetup } from './load/load-messages.js';
import { makeSetup } from './load/make-setup.js';
import { PerfRegions } from './load/perf-regions.js';
import { stabilizingNs } from './measure/latency.js';
import type { StabilitySpread } from './measure/stability.js';
import { MetricsPoller } from './metrics/metrics-poller.js';
import { messageOf } from './model/message-of.js';
import { isSequenceModel, type PerfModel, readPerfModel } from './model/perf-model.js';
import { clientOptionsOf, headersOf } from './options/client-options.js';
import type { PerfOptions } from './options/perf-options.js';
import { runPeriodic } from './periodic/run-periodic.js';
import { checkModel } from './prepare/check-model.js';
import { checkSupportedFeatures, checkSupportedKind } from './prepare/check-supported.js';
import { writeCsvReports } from './report/csv-report.js';
import { formatG } from './report/format-number.js';
import { levelReport, passLine } from './report/level-report.js';
import { type ExportedLevel, writeProfileExport } from './report/profile-export.js';
import type { ProgressListener } from './report/progress.js';
import { checkReportFile } from './report/report-file.js';
import { settingsBlock } from './report/settings-block.js';
import type { ReportedLevel } from './report/summary.js';
import { summary } from './report/summary.js';
import { sweepEndLine } from './report/sweep-end.js';

/** Where a run prints and how it is stopped. */
export interface RunSurroundings {
  /** A line to stdout. */
  print(line: string): void;
  /** A line to stderr. */
  warn(line: string): void;
  /** True once the user asked to stop. */
  interrupted(): boolean;
  readonly progress: ProgressListener;
  /** Version of this program, for the profile export. */
  readonly version: string;
}

/** What was measured. */
export interface PerfRun {
  readonly options: PerfOptions;
  readonly model: PerfModel;
  readonly levels: readonly ReportedLevel[];
  /** False when a sweep stopped early or a reported level is marked. */
  readonly complete: boolean;
}

/** Measures what the options say and writes the reports. Throws a PerfError for whatever ends the run early. */
export async function runPerf(options: PerfOptions, surroundings: RunSurroundings): Promise<PerfRun> {
  checkSupportedKind(options);
  if (options.reportFile !== '') checkReportFile(options.reportFile);
  const client = await createClient(clientOptionsOf(options));
  try {
    return await measure(options, client, surroundings);
  } finally {
    await client.close();
  }
}

async function measure(
  options: PerfOptions,
  client: InferenceServerClient,
  surroundings: RunSurroundings,
): Promise<PerfRun> {
  const { print, warn } = surroundings;
  const headers = headersOf(options);
  const request = {
    name: options.modelName,
    version: options.modelVersion,
    url: options.url,
    shapes: options.shapes,
    calls: options.composingModels,
  };
  await setTrace(options, client, headers);
  const model = await readPerfModel(client, request, headers);
  checkSupportedFeatures(options, warn);
  checkModel(options, model, warn);
  const data = readInputData(model, options, print);
  const setup = makeSetup(options, model, data, warn);
  const regions = setup.sharedMemory ? await PerfRegions.open(options, model, data, setup, client) : undefined;
  try {
    return await measureModel({ options, model, data, setup, client, headers, surroundings });
  } finally {
    await regions?.close(warn);
  }
}

/** What a measurement works with once the model, its data and the regions are there. */
interface Measurement {
  readonly options: PerfOptions;
  readonly model: PerfModel;
  readonly data: InputData;
  readonly setup: LoadSetup;
  readonly client: InferenceServerClient;
  readonly headers: Readonly<Record<string, string>>;
  readonly surroundings: RunSurroundings;
}

async function measureModel(measurement: Measurement): Promise<PerfRun> {
  const { options, model, client, headers, surroundings } = measurement;
  const { print, warn } = surroundings;
  const server = await client.serverMetadata({ headers }).catch((reason: unknown) => {
    throw startUpError('unable to get server metadata', messageOf(reason));
  });
  print(settingsBlock(options, model).slice(0, -1));
  if (options.loadMode === 'PeriodicConcurrency') {
    const level = await runPeriodic(measurement.setup, options, surroundings.interrupted);
    exportProfile(measurement, [level]);
    return { options, model, levels: [], complete: true };
  }
  const run = new Run(measurement);
  try {
    await run.profile(server.extensions.includes('statistics'));
  } catch (reason) {
    // An interrupted run reports the levels that it has; everything else loses them.
    if (!(reason instanceof PerfError) || !surroundings.interrupted()) throw reason;
    warn(reason.message);
  } finally {
    await run.close();
  }
  for (const line of summary(run.levels, options)) print(line);
  try {
    if (options.reportFile !== '' && run.levels.length > 0) writeCsvReports(run.levels, { options, model }, warn);
  } finally {
    // A report that cannot be written does not take the other one with it.
    exportProfile(measurement, run.exported);
  }
  return { options, model, levels: run.levels, complete: run.complete };
}

function exportProfile({ options, model, data, surroundings }: Measurement, levels: readonly ExportedLevel[]): void {
  if (options.profileExportFile === '') return;
  const epochOffsetNs = BigInt(Date.now()) * 1_000_000n - BigInt(Math.round(nowNs()));
  const { version, warn } = surroundings;
  writeProfileExport({ options, model, data, levels, version, epochOffsetNs }, warn);
}

/** Changes the server's global trace settings, if any were given (settings in the order of their names). */
async function setTrace(
  { trace }: PerfOptions,
  client: InferenceServerClient,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  if (trace.size === 0) return;
  const entries = [...trace].sort(([a], [b]) => (a < b ? -1 : 1));
  // The level is a list of words on the wire.
  const settings = entries.map(([name, value]) => [name, name === 'trace_level' ? [value] : value] as const);
  await client.control.updateTraceSettings(Object.fromEntries(settings), '', { headers }).catch((reason: unknown) => {
    throw startUpError('failed to create triton client backend', messageOf(reason));
  });
}

/** One run: the load, the meter and what they found. */
class Run {
  readonly levels: ReportedLevel[] = [];
  /** Every level that was begun, for the profile export. */
  readonly exported: ExportedLevel[] = [];
  readonly #options: PerfOptions;
  readonly #model: PerfModel;
  readonly #data: InputData;
  readonly #setup: LoadSetup;
  readonly #client: InferenceServerClient;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #surroundings: RunSurroundings;
  /** False once the sweep has stopped early, or a level is marked. */
  complete = true;
  /** How far the windows of the level measured last lie apart. */
  #spread: StabilitySpread | undefined;
  #generator: LoadGenerator | undefined;
  #meter: LevelMeter | undefined;
  /** Connection contexts that workers have opened so far. */
  #contexts = 0;

  constructor({ options, model, data, setup, client, headers, surroundings }: Measurement) {
    this.#options = options;
    this.#model = model;
    this.#data = data;
    this.#setup = setup;
    this.#client = client;
    this.#headers = headers;
    this.#surroundings = surroundings;
  }

  /** Goes through the levels. */
  async profile(serverStatistics: boolean): Promise<void> {
    const options = this.#options;
    const level = (value: number): Promise<LevelVerdict> => this.#level(value, serverStatistics);
    const isInteger = options.loadMode === 'Concurrency';
    const range = isInteger ? options.concurrency : options.requestRate;
    const end = await searchLevels(options, range, isInteger, level);
    if (end === undefined) return;
    const line = sweepEndLine(end, this.#spread, options);
    if (line !== undefined) {
      this.complete = false;
      this.#surroundings.warn(line);
    }
    if (end.measured === 1 && !end.last.stable && !options.keepGoing) {
      throw new PerfError('Failed to obtain stable measurement.', { exit: PerfExit.STABILITY });
    }
  }

  /** Ends the load. */
  async close(): Promise<void> {
    const generator = this.#generator;
    this.#generator = undefined;
    await generator?.stop();
  }

  async #level(level: number, serverStatistics: boolean): Promise<LevelVerdict> {
    const { print, warn, progress } = this.#surroundings;
    const options = this.#options;
    const intervals = options.loadMode === 'CustomIntervals' ? readIntervals(options.requestIntervalsFile) : [];
    const shown = options.loadMode === 'CustomIntervals' ? rateOfIntervals(intervals) : level;
    const plan = (count: number, phase: 'warmup' | 'measure'): LoadPlan => this.#plan(level, count, phase, intervals);
    const isFresh = this.#meter === undefined || isSequenceModel(this.#model);
    if (this.#meter === undefined) {
      if (options.warmupRequestCount > 0) await this.#warmUp(level, plan(options.warmupRequestCount, 'warmup'));
      await this.#start(serverStatistics);
    }
    this.#announce(level);
    progress.levelStarted(shown);
    const meter = this.#meter as unknown as LevelMeter;
    const generator = this.#generator as LoadGenerator;
    const details: ExportedLevel = { level: shown, requests: [], boundariesNs: [] };
    this.exported.push(details);
    const load = plan(options.requestCount, 'measure');
    await this.#setTraceAgain(load);
    const outcome = await meter.measure(() => generator.apply(load), isFresh, details);
    this.#spread = outcome.spread;
    const verdict = this.#judge(
      level,
      outcome.stable,
      outcome.result && stabilizingNs(outcome.result.latency, options.percentile),
    );
    const mark = verdict.met ? undefined : verdict.overLimit ? 'over limit' : 'unstable';
    if (mark !== undefined && options.keepGoing) this.complete = false;
    if ((verdict.met || options.keepGoing) && outcome.result !== undefined) {
      const context = { options, model: this.#model };
      for (const line of levelReport(outcome.result, context, warn)) print(line);
      this.levels.push({ level: shown, result: outcome.result, mark });
    }
    progress.levelEnded(shown, outcome.result, generator.threads);
    return verdict;
  }

  /** Every context of the original is a client of its own, and every client sets the trace when it is made. */
  async #setTraceAgain(load: LoadPlan): Promise<void> {
    if (this.#options.trace.size === 0) return;
    const perSequence = isSequenceModel(this.#model);
    const contexts = load.reduce((sum, { slots }) => sum + (perSequence ? slots : 1), 0);
    for (; this.#contexts < contexts; this.#contexts++) await setTrace(this.#options, this.#client, this.#headers);
  }

  /** Whether the level counts; says why not. */
  #judge(level: number, stable: boolean, valueNs: number | undefined): LevelVerdict {
    const { warn } = this.#surroundings;
    const options = this.#options;
    const limit = options.latencyThreshold;
    if (limit !== 0 && valueNs !== undefined && Math.floor(valueNs / 1e6) >= limit) {
      warn(`Measured latency went over the set limit of ${limit} msec. `);
      return { met: false, stable, overLimit: true };
    }
    if (stable) return { met: true, stable, overLimit: false };
    if (options.loadMode !== 'Concurrency') warn('Failed to obtain stable measurement.');
    else {
      const option = options.measurementMode === 'time_windows' ? 'interval' : 'request-count';
      warn(
        `Failed to obtain stable measurement within ${options.maxTrials} measurement windows for concurrency ${formatG(level)}. Please try to increase the --measurement-${option}.`,
      );
    }
    return { met: false, stable, overLimit: false };
  }

  #announce(level: number): void {
    const { print } = this.#surroundings;
    if (this.#options.loadMode === 'Concurrency') print(`Request concurrency: ${level}`);
    else if (this.#options.loadMode === 'RequestRate') {
      print(`Request Rate: ${formatG(level)} inference requests per second`);
    }
  }

  #plan(level: number, count: number, phase: 'warmup' | 'measure', intervals: readonly number[]): LoadPlan {
    const options = this.#options;
    const sequence = isSequenceModel(this.#model);
    switch (options.loadMode) {
      case 'RequestRate':
        return ratePlan(level, options, sequence, count);
      case 'CustomIntervals':
        return intervalsPlan(intervals, options, sequence, count);
      case 'FixedSchedule': {
        const split = options.warmupRequestCount;
        return phase === 'warmup'
          ? fixedPlan(this.#data, options, 0, split)
          : fixedPlan(this.#data, options, split, this.#data.streams[0]?.length ?? 0);
      }
      default:
        return concurrencyPlan(phase === 'warmup' ? Math.min(level, count) : level, options, count);
    }
  }

  /** Sends the requests that are not measured, with load threads of their own. */
  async #warmUp(level: number, plan: LoadPlan): Promise<void> {
    const options = this.#options;
    if (options.loadMode === 'Concurrency') {
      if (level > options.warmupRequestCount) {
        this.#surroundings.warn(
          'WARNING: The number of concurrent requests exceeds the warmup request count. Adjusting warmup concurrency to match the warmup request count.',
        );
      }
      this.#announce(Math.min(level, options.warmupRequestCount));
    }
    const generator = await LoadGenerator.start(this.#setup, 1);
    try {
      await generator.apply(plan);
      let completed = 0;
      while (completed < options.warmupRequestCount && !this.#surroundings.interrupted()) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        for (const part of await generator.collect()) completed += part.counters.completed;
        const fault = loadFault(generator.failures);
        if (fault !== undefined) throw fault;
      }
    } finally {
      await generator.stop();
    }
  }

  async #start(serverStatistics: boolean): Promise<void> {
    const options = this.#options;
    // Sequence ids are dealt out in one place.
    const most = isSequenceModel(this.#model) ? 1 : Math.min(availableParallelism(), options.maxThreads);
    const generator = await LoadGenerator.start(this.#setup, Math.max(1, most));
    this.#generator = generator;
    const { print, warn, interrupted, progress } = this.#surroundings;
    this.#meter = new LevelMeter(
      {
        options,
        model: this.#model,
        client: this.#client,
        headers: this.#headers,
        serverStatistics,
        poller: options.collectMetrics
          ? new MetricsPoller(options.metricsUrl, options.metricsInterval, warn)
          : undefined,
        interrupted,
        warn,
        onWindow: (index, window) => {
          progress.window(index, window);
          if (options.verbosity === 0) return;
          if (window instanceof PerfError) print(`  Pass [${index}] cb::Error: ${window.message}`);
          else print(passLine(index, window, options.percentile));
        },
      },
      generator,
    );
  }
}
