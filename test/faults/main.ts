/**
 * Servers whose calls to files, processes, threads and sockets fail or hang, chosen by a seed, under load: each has to serve on, be whole
 * again when the faults end, and end in time without leaving anything behind. Ends with status 1 when one does not.
 *
 *   npm run faults -- --seeds 20 --seconds 10
 *   npm run faults -- --seed 7
 *   npm run faults -- --python /usr/bin/python3
 */
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { runFaults } from './run-faults.js';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '10' },
    seed: { type: 'string' },
    seconds: { type: 'string', default: '10' },
    python: { type: 'string', default: 'python3' },
  },
});
const hasPython = spawnSync(values.python, ['-c', 'import numpy']).status === 0;
if (!hasPython) console.error(`faults: the Python models are LEFT OUT, '${values.python} -c "import numpy"' fails`);
const seeds =
  values.seed === undefined ? Array.from({ length: Number(values.seeds) }, (_, i) => i + 1) : [Number(values.seed)];
let failed = 0;
for (const seed of seeds) {
  const { right, refused, injected, faults, problems } = await runFaults(
    seed,
    Number(values.seconds),
    hasPython ? values.python : undefined,
  );
  console.log(
    `seed ${seed}: ${injected} faults, ${right} right responses, ${refused} refused, ${problems.length} problems`,
  );
  console.log(`  ${faults.join(', ')}`);
  for (const problem of problems) console.log(`  PROBLEM ${problem}`);
  if (problems.length > 0) failed++;
}
console.log(`${seeds.length} runs, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
