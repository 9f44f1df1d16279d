import { parseArgs } from 'node:util';
import { makeRepository } from '../support/repositories/make-repository.js';
import { ATTACKS } from './attacks.js';
import { MODEL_FILES } from './models.js';
import { Monitor } from './monitor.js';
import { type Bounds, type Outcome, runAttack } from './run-attack.js';
import { ServerUnderAttack } from './server-under-attack.js';

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '1' },
    'health-ms': { type: 'string', default: '1000' },
    'resident-mib': { type: 'string', default: '1024' },
    /** Further options of the server. */
    server: { type: 'string', multiple: true, default: [] },
    list: { type: 'boolean', default: false },
  },
});
const bounds: Bounds = { healthMs: Number(values['health-ms']), residentMiB: Number(values['resident-mib']) };
const chosen = ATTACKS.filter(
  ({ name }) => values.only.length === 0 || values.only.some((part) => name.includes(part)),
);
if (values.list) for (const { name, about } of chosen) console.log(`${name.padEnd(28)} ${about}`);
else process.exitCode = (await attackAll()) ? 0 : 1;

async function attackAll(): Promise<boolean> {
  const repository = makeRepository(MODEL_FILES);
  let failed = 0;
  console.log(head());
  try {
    for (const attack of chosen) {
      const server = await ServerUnderAttack.start(repository.path, values.server);
      const monitor = new Monitor(server);
      const resident: number[] = [server.memory().resident];
      let well = true;
      for (let round = 0; round < Number(values.rounds) && server.ended === undefined; round++) {
        const outcome = await runAttack(attack, server, monitor, { seconds: Number(values.seconds), bounds: bounds });
        console.log(row(outcome));
        resident.push(outcome.afterMiB);
        well &&= outcome.faults.length === 0;
      }
      if (resident.length > 2)
        console.log(`  resident before and after each round, MiB: ${resident.map((mib) => mib.toFixed(0)).join(' ')}`);
      await monitor.close();
      const seconds = await server.stop(40);
      if (server.ended?.status !== 0 || seconds > 10) {
        well = false;
        console.log(
          `  the stop took ${seconds.toFixed(1)} s and ended with ${server.ended?.status ?? server.ended?.signal}`,
        );
      }
      if (!well) failed++;
    }
  } finally {
    repository.remove();
  }
  console.log(`${chosen.length} attacks, ${failed} succeeded`);
  return failed === 0;
}

function head(): string {
  return `${'attack'.padEnd(28)}${['seconds', 'sent', 'health ms', 'machine', 'peak MiB', 'after MiB', 'right', 'refused'].map((text) => text.padStart(10)).join('')}  verdict`;
}

function row({
  name,
  seconds,
  sent,
  slowestMs,
  machineMs,
  peakMiB,
  afterMiB,
  right,
  refused,
  faults,
}: Outcome): string {
  const numbers = [
    seconds.toFixed(1),
    ...[sent, slowestMs, machineMs, peakMiB, afterMiB, right, refused].map((value) => value.toFixed(0)),
  ];
  const verdict = faults.length === 0 ? 'held' : `FAILED: ${faults.slice(0, 4).join('; ').slice(0, 1500)}`;
  return `${name.padEnd(28)}${numbers.map((text) => text.padStart(10)).join('')}  ${verdict}`;
}
