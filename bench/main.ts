/**
 * The benchmarks: every figure is taken beside its reference in the same run, alternating, and shown as a ratio.
 *
 *   npm run bench                       all rows
 *   npm run bench -- --only simple      rows of one file: densenet, simple, scrape, batching, ensemble, sequence,
 *                                       large-tensor, python, startup-memory, validate
 *   npm run bench -- --seconds 2 --rounds 3
 */
import '../src/backends/onnxruntime/session/ort-telemetry.js';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import Table from 'cli-table3';
import { batchingRows } from './rows/batching.js';
import type { BenchContext, Row } from './rows/context.js';
import { densenetRows } from './rows/densenet.js';
import { ensembleRows } from './rows/ensemble.js';
import { largeTensorRows } from './rows/large-tensor.js';
import { pythonRows } from './rows/python.js';
import { scrapeRows } from './rows/scrape.js';
import { sequenceRows } from './rows/sequence.js';
import { simpleRows } from './rows/simple.js';
import { startupAndMemoryRows } from './rows/startup-memory.js';
import { validateRows } from './rows/validate.js';

const GROUPS: Readonly<Record<string, (context: BenchContext) => Promise<Row[]>>> = {
  densenet: densenetRows,
  simple: simpleRows,
  scrape: scrapeRows,
  batching: batchingRows,
  ensemble: ensembleRows,
  sequence: sequenceRows,
  'large-tensor': largeTensorRows,
  python: pythonRows,
  'startup-memory': startupAndMemoryRows,
  validate: validateRows,
};

const OPTIONS = {
  only: { type: 'string' },
  seconds: { type: 'string', default: '3' },
  rounds: { type: 'string', default: '5' },
} as const;

/** Says what was wrong with the command line, and what there is. */
function usageError(text: string): never {
  console.error(`bench: ${text}`);
  console.error(`usage: npm run bench -- [--only ${Object.keys(GROUPS).join('|')}] [--seconds 3] [--rounds 5]`);
  process.exit(2);
}

function parseOptions() {
  try {
    return parseArgs({ options: OPTIONS }).values;
  } catch (reason) {
    return usageError((reason as Error).message);
  }
}

const values = parseOptions();
const groups = Object.entries(GROUPS).filter(([name]) => values.only === undefined || name === values.only);
if (groups.length === 0) usageError(`no rows are called '${values.only}'`);

const folder = mkdtempSync(path.join(os.tmpdir(), 'triton-bench-'));
const context: BenchContext = { folder, rounds: Number(values.rounds), seconds: Number(values.seconds) };
const table = new Table({ head: ['what', 'triton', 'reference', 'ratio', 'target'], style: { head: [], border: [] } });
try {
  for (const [, rows] of groups) {
    for (const row of await rows(context)) table.push([row.what, row.ours, row.reference, row.ratio, row.target]);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(
  `${os.cpus().length} cores, ${os.cpus()[0]?.model}, Node ${process.version}; medians of ${context.rounds} rounds`,
);
console.log(table.toString());
