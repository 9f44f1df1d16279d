/**
 * Mixed load for minutes: all schedulers, sequences, ensembles, Python models, loads and unloads, cancellations, timeouts.
 * Every request has to be answered once, memory has to stay flat within 5 % after the first minute, and statistics and
 * metrics have to add up to what the clients counted. Beside it hundreds of connections of every kind (naming/) send requests whose
 * responses hold, in every element, what only they can have: none may be wrong, lost, or come twice. Ends with status 1 when
 * anything of that is not so.
 *
 *   npm run soak -- --minutes 10
 *   npm run soak -- --responses 10000000           until N responses have named their request
 *   npm run soak -- --minutes 1 --share 0.1        with a tenth of the connections
 *   npm run soak -- --python /usr/bin/python3      needs numpy; without it the Python models are left out
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { configToJson } from '../../src/modelconfig/json/config-json.js';
import { readPbtxt } from '../../src/modelconfig/pbtxt/read-pbtxt.js';
import { startTriton } from '../server-process.js';
import { SoakClient } from './client.js';
import { reloadConfig, writeModels } from './models.js';
import { writeNamingModels } from './naming/models.js';
import { describeNaming, runNaming } from './naming/run-naming.js';
import { differences, Tallies } from './tally.js';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    responses: { type: 'string', default: '0' },
    share: { type: 'string', default: '1' },
    python: { type: 'string', default: 'python3' },
  },
});
/** With a number of responses the time is only a bound. */
const seconds = Number(values.minutes ?? (values.responses === '0' ? 10 : 24 * 60)) * 60;
const python = spawnSync(values.python, ['-c', 'import numpy']).status === 0;
if (!python) console.error(`soak: the Python models are LEFT OUT, '${values.python} -c "import numpy"' fails`);

/** Growth of the memory in use that is allowed, against the end of the first minute. */
const MAX_GROWTH = 0.05;
/** Pause of a lane between two requests, in ms: the machine shall not be full, or nothing but queues is tested. */
const PAUSE_MS = 4;

const folder = mkdtempSync(path.join(os.tmpdir(), 'triton-soak-'));
const repository = path.join(folder, 'models');
const names = writeModels(repository, python);
writeNamingModels(repository, python);
const memoryFile = path.join(folder, 'memory');
process.env['SOAK_MEMORY_FILE'] = memoryFile;
const server = await startTriton(
  repository,
  [
    ...['--model-control-mode', 'explicit', '--load-model', '*', '--exit-timeout-secs', '20'],
    '--cache-config=local,size=67108864',
    '--allow-client-shm=true',
    `--backend-config=python,python-executable=${values.python}`,
  ],
  ['--expose-gc', '--import', path.join(import.meta.dirname, 'report-memory.js')],
);
// A fault of this program must not leave the server behind.
process.on('exit', () => {
  try {
    process.kill(server.pid, 'SIGKILL');
  } catch {
    // It has ended, as it should.
  }
});
const client = new SoakClient(server.httpPort, server.grpcPort);
const tallies = new Tallies();
let end = performance.now() + seconds * 1000;
const problems: string[] = [];
let sequenceId = 0;

const pick = (from: number, to: number): number => from + Math.floor(Math.random() * (to - from + 1));
const either = (): boolean => Math.random() < 0.5;

/** Repeats until the time is over; an exception is a problem, and the lane ends. */
async function lane(name: string, round: () => Promise<unknown>): Promise<void> {
  try {
    while (performance.now() < end) {
      await round();
      await delay(PAUSE_MS);
    }
  } catch (reason) {
    problems.push(`${name}: ${(reason as Error).stack}`);
  }
}

/** One request of random size over either protocol. */
async function single(model: string, most: number): Promise<void> {
  const ask = { rows: pick(1, most), first: pick(1, 1000) };
  await tallies.count(model, ask.rows, either() ? client.infer(model, ask) : client.inferGrpc(model, ask));
}

async function sequence(model: string): Promise<void> {
  const id = ++sequenceId;
  const length = pick(2, 6);
  for (let step = 1; step <= length; step++) {
    const parameters = { sequence_id: id, sequence_start: step === 1, sequence_end: step === length };
    await tallies.count(model, 1, client.infer(model, { first: step, parameters }));
  }
}

async function patient(): Promise<void> {
  const cancels = Math.random() < 0.3;
  if (cancels) await tallies.count('patient', 1, client.inferGrpc('patient', { cancelAfterMs: pick(0, 12) }));
  else await tallies.count('patient', 1, client.infer('patient', { parameters: { priority: pick(0, 3) } }));
}

/** Its statistics begin again with every load, so only the responses are looked at. */
async function reload(): Promise<void> {
  const call = async (what: string, body: object): Promise<void> => {
    const { status, text } = await client.http(`/v2/repository/models/reload/${what}`, body);
    if (status !== 200) throw new Error(`${what}: ${status} ${text}`);
  };
  const change = async (instances: number): Promise<void> => {
    await call('load', { parameters: { config: configOf(instances) } });
  };
  await change(pick(1, 3));
  await Promise.all([1, 2, 3].map(() => client.inferGrpc('reload', {})));
  await change(pick(1, 3));
  const flying = [1, 2, 3].map(() => client.infer('reload', {}));
  if (either()) await call('unload', {});
  for (const { ok, text } of await Promise.all(flying)) {
    if (!ok && !/no available versions|is not at ready state|stopped accepting/.test(text)) throw new Error(text);
  }
}

/** The JSON form of the configuration, as the load call wants it. */
function configOf(instances: number): string {
  return configToJson({ ...readPbtxt(reloadConfig(instances)).config, name: 'reload' });
}

async function repeat(): Promise<void> {
  const count = pick(0, 5);
  const outcome = await tallies.count('repeat', 1, client.stream('repeat', count));
  if (outcome.answers !== count) problems.push(`repeat: ${outcome.answers} answers instead of ${count}`);
}

/** Each second: MiB in use after a collection of garbage, and resident MiB. */
const memory: { readonly used: number; readonly resident: number }[] = [];
const watch = setInterval(() => {
  const used = readMemory();
  if (used !== undefined) memory.push({ used, resident: server.residentMiB() });
  process.kill(server.pid, 'SIGUSR2');
}, 1000);
const lanes = [
  ...[1, 2].flatMap(() => ['plain', 'batched', 'ordered', 'chain'].map((name) => lane(name, () => single(name, 4)))),
  ...[1, 2, 3, 4, 5, 6].flatMap(() => ['direct', 'oldest'].map((name) => lane(name, () => sequence(name)))),
  lane('reload', reload),
];
if (python) {
  lanes.push(...[1, 2, 3, 4, 5].map(() => lane('narrow', () => single('narrow', 2))));
  lanes.push(...[1, 2, 3, 4].map(() => lane('patient', patient)));
  lanes.push(...[1, 2].map(() => lane('repeat', repeat)));
}
const naming = await runNaming({
  httpPort: server.httpPort,
  grpcPort: server.grpcPort,
  seconds,
  responses: Number(values.responses),
  python,
  share: Number(values.share),
});
end = performance.now();
await Promise.all(lanes);
clearInterval(watch);
const named = describeNaming(naming);
problems.push(...named.problems);

// Statistics are written after the response has gone out.
await delay(500);
const metrics = await client.metrics(server.metricsPort);
const counted = names.filter((name) => !['reload', 'member', 'repeat'].includes(name));
for (const name of counted) {
  const { text } = await client.http(`/v2/models/${name}/stats`);
  problems.push(...differences(name, tallies.of(name), text, metrics));
}
for (const [name, wanted] of [
  ['member', 2 * tallies.of('chain').ok],
  ['repeat', tallies.of('repeat').ok],
] as const) {
  if (!names.includes(name)) continue;
  const { text } = await client.http(`/v2/models/${name}/stats`);
  const { inference_stats: stats } = (
    JSON.parse(text) as { model_stats: { inference_stats: { success: { count: number } } }[] }
  ).model_stats[0]!;
  if (stats.success.count !== wanted) problems.push(`${name}: success is ${stats.success.count}, expected ${wanted}`);
}
checkMemory();
await client.close();
await server.stop();
rmSync(folder, { recursive: true, force: true });
for (const name of names) {
  const { sent, ok, expired, full, cancelled } = tallies.of(name);
  if (sent > 0)
    console.log(`${name}: ${sent} sent, ${ok} ok, ${expired} expired, ${full} full, ${cancelled} cancelled`);
}
for (const problem of problems) console.error(`PROBLEM ${problem}`);
console.log(named.table);
console.log(`${tallies.sent} requests beside those, ${problems.length} problems`);
process.exitCode = problems.length === 0 ? 0 : 1;

/** What the server wrote last; undefined while it has not. */
function readMemory(): number | undefined {
  try {
    const bytes = Number(readFileSync(memoryFile, 'utf8'));
    return bytes > 0 ? bytes / 2 ** 20 : undefined;
  } catch {
    return undefined;
  }
}

/** Median of the last seconds against that of the end of the first minute. */
function checkMemory(): void {
  const median = (list: readonly number[]): number => [...list].sort((a, b) => a - b)[list.length >> 1] ?? 0;
  const show = (list: typeof memory): string =>
    `${median(list.map(({ used }) => used)).toFixed(1)} MiB in use, ${median(list.map(({ resident }) => resident)).toFixed(0)} resident`;
  const [early, late] = [memory.slice(50, 65), memory.slice(-15)];
  console.log(`memory after a minute: ${show(early)}; at the end: ${show(late)}`);
  if (memory.length < 80) {
    console.log('memory is not judged: the run was shorter than 80 s');
    return;
  }
  const growth = median(late.map(({ used }) => used)) / median(early.map(({ used }) => used)) - 1;
  if (growth > MAX_GROWTH) problems.push(`memory in use grew by ${(100 * growth).toFixed(1)} %`);
}
