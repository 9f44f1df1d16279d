import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { defaultLogSettings, type LogSink, ServerLog } from './server-log.js';
import { renderTable } from './table.js';

function collect(width = 500): LogSink & { out: string; err: string } {
  return {
    out: '',
    err: '',
    width,
    stdout(text) {
      this.out += text;
    },
    stderr(text) {
      this.err += text;
    },
  };
}

test('info goes to stdout, warnings and errors to stderr, in the default format', () => {
  const sink = collect();
  const log = new ServerLog({ ...defaultLogSettings }, sink);
  log.info('a "quoted"\nline\\');
  log.warning('careful');
  log.error('broken \u0001');
  assert.match(sink.out, /^I\d{4} \d\d:\d\d:\d\d\.\d{6} \d+ triton\.ts:0\] "a \\"quoted\\"\\nline\\\\"\n$/);
  assert.match(sink.err, /^W\d{4} .*\] "careful"\nE\d{4} .*\] "broken \\u0001"\n$/);
});

test('ISO8601 records have no fraction of a second', () => {
  const sink = collect();
  new ServerLog({ ...defaultLogSettings, format: 'ISO8601' }, sink).info('x');
  assert.match(sink.out, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ I \d+ [\w.-]+:\d+\] "x"\n$/);
});

test('switches and the verbose level decide what is shown', () => {
  const sink = collect();
  const log = new ServerLog({ ...defaultLogSettings, info: false, error: false, verboseLevel: 1 }, sink);
  log.info('no');
  log.error('no');
  log.verbose(2, 'no');
  log.verbose(1, 'yes');
  log.table(['A'], []);
  assert.match(sink.out, /^I.*"yes"\n$/);
  assert.equal(sink.err, '');
});

test('a table is one record with an empty first line and an empty line at its end', () => {
  const sink = collect();
  new ServerLog({ ...defaultLogSettings }, sink).table(['Model', 'Version'], [['resnet50', '1']]);
  assert.match(
    sink.out,
    /\] \n\+----------\+---------\+\n\| Model {4}\| Version \|\n\+----------\+---------\+\n\| resnet50 \| 1 {7}\|\n\+----------\+---------\+\n\n$/,
  );
});

test('a log file takes everything', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'log-'));
  after(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'log');
  const sink = collect();
  const log = new ServerLog({ ...defaultLogSettings, file }, sink);
  log.info('one');
  log.error('two');
  log.close();
  assert.match(readFileSync(file, 'utf8'), /^I.*"one"\nE.*"two"\n$/);
  assert.equal(sink.out + sink.err, '');
});

test('columns share the width; what is longer is wrapped', () => {
  const table = renderTable(
    ['Option', 'Value'],
    [
      ['server_extensions', 'a long value that wraps'],
      ['x', 'y'],
    ],
    40,
  );
  assert.equal(
    table,
    [
      '+------------------+------------------+',
      '| Option           | Value            |',
      '+------------------+------------------+',
      '| server_extension | a long value tha |',
      '| s                | t wraps          |',
      '| x                | y                |',
      '+------------------+------------------+',
      '',
    ].join('\n'),
  );
});

test('an empty table has its header between two dividers', () => {
  assert.equal(
    renderTable(['Repository Agent', 'Path'], [], 500),
    '+------------------+------+\n| Repository Agent | Path |\n+------------------+------+\n+------------------+------+\n',
  );
});
