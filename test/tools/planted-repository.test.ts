/** A repository of a thousand models in which fifty have a fault: all are found, and nothing else is said. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { temporaryDirectory } from '../support/machine/temporary-directory.js';
import { pythonWithNumpy } from '../support/programs/python.js';
import { runValidate } from '../support/programs/validate-process.js';
import { plantRepository } from '../support/repositories/planted-repository.js';

const MODELS = 1000;
const FAULTS = 50;
const MEMORY_LIMIT_MIB = 300;

const directory = temporaryDirectory();
after(() => directory.remove());

test('fifty faults in a thousand models: all found, nothing else, in little memory', async () => {
  const planted = plantRepository(directory.path, MODELS, FAULTS);
  const { status, out, complaint, peakMiB } = await runValidate(
    directory.path,
    ['--format', 'json'],
    pythonWithNumpy(),
  );
  assert.equal(status, 1, complaint);
  const report = JSON.parse(out) as { models: number; findings: { model: string; rule: string; remedy?: string }[] };
  assert.equal(report.models, MODELS);
  const byModel = (a: { model: string }, b: { model: string }): number => (a.model < b.model ? -1 : 1);
  assert.deepEqual(
    report.findings.map(({ model, rule }) => ({ model, rule })).sort(byModel),
    [...planted].sort(byModel),
  );
  assert.ok(report.findings.every(({ remedy }) => remedy !== undefined && remedy !== ''));
  assert.ok(peakMiB < MEMORY_LIMIT_MIB, `${peakMiB} MiB`);
});
