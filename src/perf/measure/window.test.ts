import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PerfError } from '../error/perf-error.js';
import { FLAG_DELAYED, FLAG_SEQUENCE_END, RecordList, splitAtWindow } from './records.js';
import { isOverLimit, isStable, isThroughputStable } from './stability.js';
import { computeWindow, mergeWindows, type WindowInput } from './window.js';

function records(...list: [start: number, end: number, flags?: number][]): Float64Array {
  const log = new RecordList();
  for (const [start, end, flags = 0] of list) log.push(start, end, flags, 1);
  return log.take();
}

function input(parts: readonly Float64Array[], more: Partial<WindowInput> = {}): WindowInput {
  return {
    startNs: 0,
    endNs: 1e9,
    batchSize: 1,
    percentile: -1,
    records: splitAtWindow(parts, 0, 1e9).inside,
    counters: { completed: parts.length, requestNs: 300, sendNs: 30, receiveNs: 3, sent: 4 },
    overheadPercent: 1,
    utilization: 0.5,
    gpuPolls: undefined,
    server: undefined,
    ...more,
  };
}

test('a request counts in the window in which it ends, later ones wait', () => {
  const { inside, later } = splitAtWindow([records([-5, 10], [90, 100], [95, 101], [-9, -1])], 0, 100);
  assert.deepEqual(
    inside.map((record) => record[1]),
    [10, 100],
  );
  assert.deepEqual(
    later.map((record) => record[1]),
    [101],
  );
});

test('a window counts requests, sequences and delays', () => {
  const parts = [records([0, 2000, FLAG_DELAYED], [0, 4000, FLAG_SEQUENCE_END], [0, 6000])];
  const window = computeWindow(input(parts, { batchSize: 2 }), () => assert.fail());
  assert.equal(window.requestCount, 3);
  assert.equal(window.throughput, 6);
  assert.equal(window.delayedCount, 1);
  assert.equal(window.sequenceCount, 1);
  assert.equal(window.sendRate, 4);
  assert.equal(window.latency.averageNs, 4000);
});

test('a window without requests is an error with status 3', () => {
  assert.throws(
    () => computeWindow(input([]), () => {}),
    (reason) => reason instanceof PerfError && reason.exit === 3 && reason.message.startsWith('No valid requests'),
  );
});

test('one request gives the warning about its deviation', () => {
  const warnings: string[] = [];
  computeWindow(input([records([0, 5])]), (line) => warnings.push(line));
  assert.match(warnings.join(), /Pass contained only one request/);
});

test('merged windows have the rate of all together and recomputed latencies', () => {
  const first = computeWindow(input([records([0, 1000], [0, 3000])]), () => {});
  const second = computeWindow(input([records([0, 2000], [0, 2000], [0, 2000], [0, 2000])], { endNs: 2e9 }), () => {});
  const merged = mergeWindows([first, second], -1, () => {});
  assert.equal(merged.requestCount, 6);
  assert.equal(merged.throughput, 2);
  assert.equal(merged.latency.averageNs, 2000);
  assert.deepEqual([...merged.latencies], [1000, 2000, 2000, 2000, 2000, 3000]);
  assert.equal(merged.avgRequestNs, 300);
});

test('three windows within the threshold are stable', () => {
  const history = { throughputs: [50, 100, 105, 110], latenciesNs: [9, 100, 101, 110] };
  assert.equal(isStable(history, 0.1), true);
  assert.equal(isStable(history, 0.09), false);
  assert.equal(isStable({ throughputs: [100, 100], latenciesNs: [1, 1] }, 0.1), false);
  assert.equal(isStable({ throughputs: [0, 0, 0], latenciesNs: [1, 1, 1] }, 9), false);
  assert.equal(isThroughputStable({ ...history, latenciesNs: [1, 2, 3, 9] }, 0.1), true);
});

test('the latency limit looks at the last three windows', () => {
  assert.equal(isOverLimit({ throughputs: [], latenciesNs: [9e6, 1, 1, 1] }, 5), false);
  assert.equal(isOverLimit({ throughputs: [], latenciesNs: [1, 5e6, 1] }, 5), true);
  assert.equal(isOverLimit({ throughputs: [], latenciesNs: [1, 5e6, 1] }, 0), false);
});
