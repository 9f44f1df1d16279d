import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { pythonWithNumpy } from '../../test/support/programs/python.js';
import { runValidate, type ValidateRun } from '../../test/support/programs/validate-process.js';
import { plantRepository } from '../../test/support/repositories/planted-repository.js';
import { median } from '../measure.js';
import type { BenchContext, Row } from './context.js';

const MODELS = 1000;
const FAULTS = 50;

/** `triton repo validate` on a thousand models of every kind: time from start to end of the process, and its memory. */
export async function validateRows(context: BenchContext): Promise<Row[]> {
  const folder = path.join(context.folder, 'planted');
  mkdirSync(folder);
  plantRepository(folder, MODELS, FAULTS);
  const python = pythonWithNumpy();
  const what = `validate ${MODELS} models, ${FAULTS} faults`;
  const rows = [await rowOf(`${what}, Python models imported`, folder, python, context)];
  rows.push(await rowOf(`${what}, Python models not imported`, folder, undefined, context));
  return rows;
}

async function rowOf(what: string, folder: string, python: string | undefined, context: BenchContext): Promise<Row> {
  const runs: ValidateRun[] = [];
  for (let i = 0; i < context.rounds; i++) runs.push(await runValidate(folder, ['--format', 'json'], python));
  const found = JSON.parse(runs[0]?.out ?? '{}') as { errors?: number };
  const seconds = median(runs.map((run) => run.seconds)).toFixed(2);
  const memory = Math.max(...runs.map((run) => run.peakMiB)).toFixed(0);
  return {
    what,
    ours: `${seconds} s, ${memory} MiB, ${found.errors} found`,
    reference: '',
    ratio: '',
    target: `< 5 s, < 300 MiB, ${FAULTS} found`,
  };
}
