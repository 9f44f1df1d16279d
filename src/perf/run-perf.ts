import { createClient, type InferenceServerClient } from '../client/index.js';
import { messageOf } from './error/message-of.js';
import { PerfError, PerfExit, startUpError } from './error/perf-error.js';
import { readInputData } from './input/read-input-data.js';
import { LevelRun, type Measurement } from './levels/level-run.js';
import { runPeriodic } from './levels/run-periodic.js';
import { makeSetup } from './load/make-setup.js';
import { PerfRegions } from './load/perf-regions.js';
import { setTrace } from './load/set-trace.js';
import { readPerfModel } from './model/perf-model.js';
import { clientOptionsOf, headersOf } from './options/client-options.js';
import type { PerfOptions } from './options/perf-options.js';
import { settleForModel } from './prepare/check-model.js';
import { checkSupportedFeatures, checkSupportedKind } from './prepare/check-supported.js';
import { passLine } from './report/level-report.js';
import type { Progress } from './report/progress.js';
import type { ReportOutput } from './report/reporter.js';
import { Reports } from './report/reports.js';
import { sweepEndLine } from './report/sweep-end.js';

/** Where a run prints and how it is stopped. */
export interface RunSurroundings extends ReportOutput {
  /** True once the user asked to stop. */
  interrupted(): boolean;
  readonly progress: Progress;
}

/** How a run ended. */
export interface PerfRun {
  /** False when a sweep stopped early or a reported level is marked. */
  readonly complete: boolean;
}

/** Measures what the options say and makes the reports. Throws a PerfError for whatever ends the run early. */
export async function runPerf(options: PerfOptions, surroundings: RunSurroundings): Promise<PerfRun> {
  checkSupportedKind(options);
  const reports = await Reports.open(options, surroundings);
  const client = await createClient(clientOptionsOf(options));
  try {
    return await setUpAndMeasure(options, client, reports, surroundings);
  } finally {
    await client.close();
  }
}

async function setUpAndMeasure(
  given: PerfOptions,
  client: InferenceServerClient,
  reports: Reports,
  surroundings: RunSurroundings,
): Promise<PerfRun> {
  const { print, warn } = surroundings;
  const headers = headersOf(given);
  const request = {
    name: given.connection.modelName,
    version: given.connection.modelVersion,
    url: given.connection.url,
    shapes: given.input.shapes,
    calls: given.connection.composingModels,
  };
  await setTrace(given.connection, client, headers);
  const model = await readPerfModel(client, request, headers);
  checkSupportedFeatures(given, warn);
  const options = settleForModel(given, model, warn);
  const data = readInputData(model, options, print);
  const setup = makeSetup(options, model, data, warn);
  const regions = setup.sharedMemory ? await PerfRegions.open(client, options, model, setup) : undefined;
  try {
    const serverStatistics = await hasStatistics(client, headers);
    const measurement = { options, model, data, setup, client, headers, serverStatistics };
    reports.runBegan(measurement);
    return options.load.loadMode === 'PeriodicConcurrency'
      ? await measurePeriodic(measurement, reports, surroundings)
      : await measureLevels(measurement, reports, surroundings);
  } finally {
    await regions?.close(warn);
  }
}

async function hasStatistics(
  client: InferenceServerClient,
  headers: Readonly<Record<string, string>>,
): Promise<boolean> {
  const { extensions } = await client.serverMetadata({ headers }).catch((reason: unknown) => {
    throw startUpError('unable to get server metadata', messageOf(reason));
  });
  return extensions.includes('statistics');
}

/** Periodic concurrency has requests to export, but no figures. */
async function measurePeriodic(
  measurement: Measurement,
  reports: Reports,
  { interrupted }: RunSurroundings,
): Promise<PerfRun> {
  const level = await runPeriodic(measurement.setup, measurement.options.load, interrupted);
  reports.runFinished({ ...measurement, levels: [], exported: [level] });
  return { complete: true };
}

async function measureLevels(
  measurement: Measurement,
  reports: Reports,
  surroundings: RunSurroundings,
): Promise<PerfRun> {
  const { options } = measurement;
  const { print, warn, interrupted, progress } = surroundings;
  const run = new LevelRun(measurement, {
    print,
    warn,
    interrupted,
    levelStarted: (level) => progress.levelStarted(level),
    windowMeasured: (index, window) => {
      progress.windowMeasured(index, window);
      if (options.report.verbosity > 0) print(passLine(index, window, options.measure.percentile));
    },
    levelReported: (level) => reports.levelFinished(level, measurement),
    levelEnded: (level, result, threads) => progress.levelEnded(level, result, threads),
  });
  let complete = true;
  try {
    const end = await run.measure();
    const stopped = end && sweepEndLine(end, run.spread, options);
    if (stopped !== undefined) {
      complete = false;
      warn(stopped);
    }
    if (end?.measured === 1 && !end.last.stable && !options.measure.keepGoing) {
      throw new PerfError('Failed to obtain stable measurement.', { exit: PerfExit.STABILITY });
    }
  } catch (reason) {
    // An interrupted run reports the levels that it has; everything else loses them.
    if (!(reason instanceof PerfError) || !interrupted()) throw reason;
    warn(reason.message);
  } finally {
    await run.close();
  }
  reports.runFinished({ ...measurement, levels: run.levels, exported: run.exported });
  return { complete: complete && !run.marked };
}
