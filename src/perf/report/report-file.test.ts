import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import type { PerfOptions } from '../options/perf-options.js';
import { profileExport } from './profile-export.js';
import { checkReportFile, writeReportFile } from './report-file.js';

const folder = mkdtempSync(path.join(tmpdir(), 'triton-report-'));
after(() => rmSync(folder, { recursive: true }));

test('a file that can be written passes, and is neither made nor changed', () => {
  const fresh = path.join(folder, 'fresh.csv');
  checkReportFile(fresh);
  assert.equal(existsSync(fresh), false);
  const known = path.join(folder, 'known.csv');
  writeFileSync(known, 'old');
  checkReportFile(known);
  assert.equal(readFileSync(known, 'utf8'), 'old');
});

test('directories that are not there, and directories, are refused with what to do', () => {
  const file = path.join(folder, 'none', 'x.csv');
  const message = `error: cannot write the report '${file}': the directory '${path.dirname(file)}' does not exist; make it, or name another file with -f`;
  assert.throws(() => checkReportFile(file), { name: 'PerfError', exit: 99, message });
  assert.throws(() => checkReportFile(path.join(folder, 'known.csv', 'x.csv')), /does not exist; make it/);
  const directory = path.join(folder, 'directory');
  mkdirSync(directory);
  assert.throws(() => checkReportFile(directory), /: it is a directory; name a file in it$/);
});

test('a disk that is full at the end is an error', { skip: !existsSync('/dev/full') }, () => {
  checkReportFile('/dev/full');
  assert.throws(() => writeReportFile('/dev/full', 'x'), /'\/dev\/full': the disk is full; make room/);
});

test('a profile export that cannot be written is refused before the run, with its own option', () => {
  const file = path.join(folder, 'none', 'x.json');
  const options = { report: { profileExportFile: file } } as unknown as PerfOptions;
  const output = { print() {}, warn() {}, version: '', chart: false };
  assert.throws(
    () => profileExport(options, output),
    /x\.json': the directory .* or name another file with --profile-export-file$/,
  );
});
