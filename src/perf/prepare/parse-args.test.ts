import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { PerfError } from '../error/perf-error.js';
import { OPTION_TABLE, type PerfOptions, perfHelp } from '../options/perf-options.js';
import { parseArgs } from './parse-args.js';

function parse(...args: string[]): { options: PerfOptions; warnings: string[] } {
  const warnings: string[] = [];
  const parsed = parseArgs(args, (line) => warnings.push(line));
  assert.equal(parsed.kind, 'measure');
  return { options: (parsed as Extract<typeof parsed, { kind: 'measure' }>).options, warnings };
}

function faultOf(...args: string[]): PerfError {
  try {
    parseArgs(args, () => {});
  } catch (reason) {
    assert.ok(reason instanceof PerfError);
    return reason;
  }
  assert.fail(`${args.join(' ')} was accepted`);
}

test('every option of a plain command line has its default', () => {
  const { options } = parse('-m', 'x');
  assert.equal(options.connection.url, 'localhost:8000');
  assert.equal(options.load.maxThreads, 16);
  assert.equal(options.measure.measurementInterval, 5000);
  assert.equal(options.measure.stabilityThreshold, 0.1);
  assert.equal(options.load.loadMode, 'Concurrency');
  assert.equal(options.connection.metricsUrl, 'localhost:8002/metrics');
  assert.equal(parse('-m', 'x', '-i', 'GRPC').options.connection.url, 'localhost:8001');
});

test('options may be shortened, joined and repeated', () => {
  const { options } = parse('-mx', '-vab4', '--con=2:8:2', '--perc', '95', '--shape', 'a:b:1,2', '-Hk: v');
  assert.equal(options.input.batchSize, 4);
  assert.equal(options.load.async, true);
  assert.equal(options.report.verbosity, 1);
  assert.deepEqual(options.load.concurrency, { start: 2, end: 8, step: 2 });
  assert.deepEqual([...options.input.shapes], [['a:b', [1, 2]]]);
  assert.deepEqual(options.connection.headers, [['k', ' v']]);
});

const USAGE_FAULTS: readonly [args: string[], text: string][] = [
  [[], 'Failed to parse -m (model name). The value must be specified.'],
  [['-m', 'x', '-b', '0'], 'Failed to parse -b (batch size). The value must be > 0.'],
  [['-m', 'x', '-b', 'abc'], 'Failed to parse -b. Invalid value provided: abc'],
  [['-m', 'x', '--meas=1'], "Error: Invalid long option '--meas=1'"],
  [
    ['-m', 'x', '--percentile', '100'],
    'Failed to parse --percentile. The value must be -1 for not reporting or in range (0, 100).',
  ],
  [['-m', 'x', '--shape', 'a'], 'Failed to parse --shape. There must be a colon after input name.'],
  [
    ['-m', 'x', '--concurrency-range', '1:2:3:4'],
    'Failed to parse --concurrency-range. The value does not match <start:end:step>.',
  ],
  [
    ['-m', 'x', '--concurrency-range', '1', '--request-rate-range', '2'],
    'Cannot use both Concurrency and RequestRate inference load modes.',
  ],
  [
    ['-m', 'x', '--concurrency-range', '1:0'],
    'The end of the search range and the latency limit can not be both 0 (or 0.0) simultaneously',
  ],
  [
    ['-m', 'x', '--concurrency-range', '1:4:0'],
    'Failed to parse --concurrency-range. The step of the search range must be > 0.',
  ],
  [['-m', 'x', '--streaming'], 'Streaming is only allowed with gRPC protocol and Triton C API.'],
  [['-m', 'x', '-a', '--sync'], 'Cannot specify --async and --sync simultaneously.'],
  [['-m', 'x', '--request-count', '2', '--concurrency-range', '4'], '--request-count can not be less than concurrency'],
];

test('wrong command lines are refused with the text of the first fault', () => {
  for (const [args, text] of USAGE_FAULTS) {
    const fault = faultOf(...args);
    assert.equal(fault.message.replace(/^Error: (?!Invalid)/, ''), text);
    assert.equal(fault.exit, 99);
  }
});

test('malformed options show as typed, without the usage text', () => {
  assert.equal(faultOf('-m').message, "Error: Invalid short option '-m'");
  assert.equal(faultOf('-vq').message, "Error: Invalid short option '-q'");
  assert.equal(faultOf('--percentile').message, "Error: Missing value for option '--percentile'");
  assert.equal(faultOf('--async=1').message, "Error: Missing value for option '--async=1'");
  assert.equal(faultOf('--async=1').usage, false);
});

test('warnings do not stop the parse', () => {
  const { options, warnings } = parse('-m', 'x', '-t', '4', '-c', '8', '--sequence-length', '0');
  assert.deepEqual(options.load.concurrency, { start: 4, end: 8, step: 1 });
  assert.equal(options.sequence.sequenceLength, 20);
  assert.match(warnings[0] as string, /^Warning: -t is deprecated/);
  assert.match(warnings[2] as string, /^WARNING: The sequence length must be > 0/);
});

test('the number of requests of a fixed schedule is that of its entries', () => {
  const folder = mkdtempSync(join(tmpdir(), 'perf-'));
  const file = join(folder, 'schedule.json');
  writeFileSync(file, '{"data":[{"timestamp":[0]},{"timestamp":[5]},{"timestamp":[9]}]}');
  const { options } = parse('-m', 'x', '--fixed-schedule', '--input-data', file, '--warmup-request-count', '1');
  rmSync(folder, { recursive: true });
  assert.equal(options.load.requestCount, 2);
  assert.equal(options.measure.measurementMode, 'count_windows');
});

test('the usage text names every option', () => {
  const text = perfHelp();
  for (const { name } of OPTION_TABLE) {
    if (name !== '') assert.match(text, new RegExp(`--${name}(?![-\\w])`));
  }
});
