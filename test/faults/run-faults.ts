import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ServerUnderAttack } from '../attack/server-under-attack.js';
import { processesMarked } from '../support/ledger/processes.js';
import { temporaryDirectory, writeFiles } from '../support/machine/temporary-directory.js';
import { onnxModel } from '../support/repositories/onnx-builder.js';
import { httpRequest } from '../support/wire/http-request.js';
import { Workload } from './workload.js';

const IO =
  'input { name: "INPUT0" data_type: TYPE_INT32 dims: [4] } output { name: "OUTPUT0" data_type: TYPE_INT32 dims: [4] }';
const PYTHON = `import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", r.inputs()[0].as_numpy())]) for r in requests]
`;
const EXIT_TIMEOUT_S = 10;
/** How long a server may take to be whole again after the last fault. */
const RECOVERY_MS = 60_000;

/** What one run came to. */
export interface FaultRun {
  readonly seed: number;
  readonly right: number;
  readonly refused: number;
  /** Faults that were injected: all, and how many of which, as `ENOSPC write 3`. */
  readonly injected: number;
  readonly faults: readonly string[];
  /** What is wrong; empty when the server held. */
  readonly problems: readonly string[];
}

/** Runs a server whose calls to the system fail by this seed, under load, and looks whether it holds. */
export async function runFaults(seed: number, seconds: number, python: string | undefined): Promise<FaultRun> {
  const directory = temporaryDirectory({ 'tmp/': '' });
  const folder = directory.path;
  const repository = path.join(folder, 'models');
  const temporary = path.join(folder, 'tmp');
  const report = path.join(folder, 'report');
  const models = writeModels(repository, python !== undefined);
  const mark = `TRITON_FAULTS=${seed},${2 + (seed % 5) * 2},${report}`;
  const poll = seed % 2 === 0;
  const problems: string[] = [];
  const before = { ...process.env };
  Object.assign(process.env, { TMPDIR: temporary, TRITON_FAULTS: mark.slice('TRITON_FAULTS='.length) });
  const server = await ServerUnderAttack.start(
    repository,
    [
      ...(poll
        ? ['--model-control-mode=poll', '--repository-poll-secs=1']
        : ['--model-control-mode=explicit', '--load-model=*']),
      ...['--allow-client-shm=true', `--exit-timeout-secs=${EXIT_TIMEOUT_S}`, '--cache-config=local,size=1000000'],
      ...(seed % 3 === 0 ? [`--log-file=${path.join(folder, 'log')}`] : []),
      ...[
        `--trace-config=triton,file=${path.join(folder, 'trace')}`,
        '--trace-config=level=TIMESTAMPS',
        '--trace-config=rate=5',
      ],
      ...(python === undefined ? [] : [`--backend-config=python,python-executable=${python}`]),
    ],
    [`--import=${new URL('./inject.js', import.meta.url)}`],
  ).finally(() => {
    for (const name of ['TMPDIR', 'TRITON_FAULTS']) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  });
  const workload = new Workload(server, repository, models, seed);
  server.child.kill('SIGUSR2');
  for (let second = 0; second < seconds && server.ended === undefined; second++) {
    await delay(1000);
    if (python !== undefined && second % 2 === 1) killAModel(mark, server.pid);
  }
  if (server.ended === undefined) server.child.kill('SIGUSR2');
  await workload.stop();
  if (server.ended === undefined) problems.push(...(await recovers(server, workload, models, poll)));
  const ended = server.ended;
  if (ended !== undefined)
    problems.push(`the server ended by itself (${ended.status ?? ended.signal}): ${server.output.slice(-3000)}`);
  const took = await server.stop(EXIT_TIMEOUT_S + 20);
  if (took > EXIT_TIMEOUT_S + 5) problems.push(`the stop took ${took.toFixed(1)} s`);
  if (ended === undefined && server.ended?.status !== 0)
    problems.push(`the stop ended with ${server.ended?.status ?? server.ended?.signal}`);
  await delay(1500);
  problems.push(
    ...workload.observed.wrong,
    ...processesMarked(mark).map(({ pid, command }) => `process ${pid} is left: ${command}`),
  );
  problems.push(...readdirSync(temporary).map((name) => `temporary file ${name} is left`));
  const faults = existsSync(report) ? readFileSync(report, 'utf8').trim().split('\n') : [];
  const injected = faults.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  if (injected === 0) problems.push('no fault was injected: the run proves nothing');
  if (workload.observed.right === 0) problems.push('nothing was served while calls failed');
  directory.remove();
  const { right, refused } = workload.observed;
  return { seed, right, refused, injected, faults, problems };
}

/** Kills one process of a Python model, as the kernel does when memory is short. */
function killAModel(mark: string, server: number): void {
  const model = processesMarked(mark).find(
    ({ parent, command }) => parent === server && command.includes('run_model.py'),
  );
  if (model === undefined) return;
  try {
    process.kill(model.pid, 'SIGKILL');
  } catch {
    // It ended by itself meanwhile.
  }
}

/** Without faults everything has to work again: every model loads, if it is asked to, and answers. */
async function recovers(
  server: ServerUnderAttack,
  workload: Workload,
  models: readonly string[],
  poll: boolean,
): Promise<string[]> {
  const end = performance.now() + RECOVERY_MS;
  let left = [...models];
  let last = '';
  while (performance.now() < end && server.ended === undefined) {
    const broken: string[] = [];
    for (const model of left) {
      if (!poll) {
        const load = await httpRequest(server.httpPort, 'POST', `/v2/repository/models/${model}/load`, '{}').catch(
          String,
        );
        last = typeof load === 'string' ? load : load.text;
      }
      if (!(await workload.infer(model))) broken.push(model);
    }
    left = broken;
    if (left.length === 0) return [];
    await delay(1000);
  }
  return [
    `not served within ${RECOVERY_MS / 1000} s after the last fault: ${left.join(', ')} ${last.slice(0, 500)}\n${server.output.slice(-1500)}`,
  ];
}

function writeModels(repository: string, python: boolean): string[] {
  const identity = onnxModel({
    inputs: [{ name: 'INPUT0', type: 6, dims: ['B', 4] }],
    outputs: [{ name: 'OUTPUT0', type: 6, dims: ['B', 4] }],
  });
  const files: Record<string, string | Uint8Array> = {
    'plain/config.pbtxt': `backend: "identity" max_batch_size: 8 ${IO}`,
    'plain/1/.keep': '',
    'graph/config.pbtxt': `backend: "onnxruntime" max_batch_size: 8 ${IO} dynamic_batching { } response_cache { enable: true }`,
    'graph/1/model.onnx': identity,
    ...(python
      ? {
          'code/config.pbtxt': `backend: "python" max_batch_size: 8 ${IO} instance_group { count: 2 kind: KIND_CPU }`,
          'code/1/model.py': PYTHON,
        }
      : {}),
  };
  writeFiles(repository, files);
  return ['plain', 'graph', ...(python ? ['code'] : [])];
}
