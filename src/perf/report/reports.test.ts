import assert from 'node:assert/strict';
import { test } from 'node:test';
import { latencyFigures } from '../measure/latency.js';
import { emptyServerStats, type ServerStats } from '../measure/server-stats.js';
import type { WindowResult } from '../measure/window.js';
import type { PerfModel } from '../model/perf-model.js';
import { draftOf } from '../options/perf-options.js';
import { summary } from './console-report.js';
import { csvTable } from './csv-report.js';
import { levelReport, passLine } from './level-report.js';
import { settingsBlock } from './settings-block.js';

const MODEL: PerfModel = {
  name: 'm',
  version: '',
  inputs: [],
  outputs: [],
  maxBatchSize: 8,
  decoupled: false,
  scheduler: 'NONE',
  composing: new Map(),
  responseCache: false,
  topLevelCache: false,
};

function server(): ServerStats {
  const duration = (us: number) => ({ count: 10, ns: us * 10_000 });
  return {
    ...emptyServerStats({ name: 'm', version: '1' }),
    inferenceCount: 10,
    executionCount: 5,
    success: duration(402),
    queue: duration(47),
    computeInput: duration(22),
    computeInfer: duration(285),
    computeOutput: duration(17),
  };
}

function result(throughput: number, stats: ServerStats | undefined = server()): WindowResult {
  const latencies = Float64Array.from([800_000, 900_000]);
  return {
    startNs: 0,
    endNs: 1,
    durationNs: 1,
    batchSize: 1,
    requestCount: 2,
    sequenceCount: 0,
    delayedCount: 0,
    responseCount: 2,
    latencies,
    latency: latencyFigures(latencies, -1),
    throughput,
    responseThroughput: throughput,
    sequenceRate: 0,
    sendRate: 1,
    overheadPercent: 1,
    utilization: 0,
    completedCount: 2,
    gpuPolls: undefined,
    avgRequestNs: 825_999,
    avgSendNs: 49_000,
    avgReceiveNs: 9_000,
    server: stats,
  };
}

const context = { options: draftOf(), model: MODEL };
const fail = (line: string): void => assert.fail(line);

test('the settings block of a sweep', () => {
  const options = { ...draftOf(), load: { ...draftOf().load, concurrency: { start: 1, end: 2, step: 1 } } };
  assert.equal(
    settingsBlock(options, MODEL),
    `*** Measurement Settings ***
  Batch size: 1
  Service Kind: TRITON
  Using "time_windows" mode for stabilization
  Stabilizing using average latency and throughput
  Measurement window: 5000 msec
  Latency limit: 0 msec
  Concurrency limit: 2 concurrent requests
  Using synchronous calls for inference

`,
  );
});

test('the report of a level', () => {
  assert.deepEqual(levelReport(result(1200.16), context, fail), [
    '  Client: ',
    '    Request count: 2',
    '    Throughput: 1200.16 infer/sec',
    '    Avg latency: 850 usec (standard deviation 70 usec)',
    '    p50 latency: 900 usec',
    '    p90 latency: 900 usec',
    '    p95 latency: 900 usec',
    '    p99 latency: 900 usec',
    '    Avg HTTP time: 825 usec (send/recv 58 usec + response wait 767 usec)',
    '  Server: ',
    '    Inference count: 10',
    '    Execution count: 5',
    '    Successful request count: 10',
    '    Avg request latency: 402 usec (overhead 31 usec + queue 47 usec + compute input 22 usec + compute infer 285 usec + compute output 17 usec)',
  ]);
});

test('the line of a window', () => {
  assert.equal(
    passLine(1, result(20), -1),
    '  Pass [1] throughput: 20 infer/sec. Avg latency: 850 usec (std 70 usec). ',
  );
});

test('the models that an ensemble calls stand below it, each with a block of its own', () => {
  const stats = {
    ...server(),
    composing: [
      { ...server(), name: 'b' },
      { ...server(), name: 'a' },
    ],
  };
  const model = { ...MODEL, scheduler: 'ENSEMBLE' as const };
  const lines = levelReport(result(1, stats), { ...context, model }, fail);
  assert.deepEqual(lines.slice(13, 18), [
    '    Avg request latency: 402 usec (overhead 0 usec + queue 94 usec + compute 648 usec)',
    '',
    '  Composing models: ',
    '  a, version: 1',
    '      Inference count: 10',
  ]);
});

test('rows of the CSV file ascend by throughput', () => {
  const levels = [
    { level: 2, result: result(2134.45) },
    { level: 1, result: result(1200.16) },
  ];
  assert.equal(
    csvTable(levels, context, fail),
    `Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute Input,Server Compute Infer,Server Compute Output,Client Recv,p50 latency,p90 latency,p95 latency,p99 latency
1,1200.16,49,421,47,22,285,17,9,900,900,900,900
2,2134.45,49,421,47,22,285,17,9,900,900,900,900
`,
  );
});

test('the summary has a line for each level', () => {
  assert.deepEqual(summary([{ level: 1, result: result(20) }], context.options), [
    'Inferences/Second vs. Client Average Batch Latency',
    'Concurrency: 1, throughput: 20 infer/sec, latency 850 usec',
  ]);
  assert.deepEqual(summary([], context.options), []);
});
