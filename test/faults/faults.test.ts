/** A short form of `npm run faults`: calls of a server under load fail or hang, it serves on, is whole again, and ends in time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pythonWithNumpy } from '../support/programs/python.js';
import { runFaults } from './run-faults.js';

/** Together they have both ways of model control, all rates, and a log file. */
const SEEDS = [1, 2, 3];

for (const seed of SEEDS) {
  test(`faults of seed ${seed}`, { skip: process.platform !== 'linux' }, async () => {
    const { problems } = await runFaults(seed, 3, pythonWithNumpy());
    assert.deepEqual(problems, []);
  });
}
