/** The first hour: make a repository, serve it, classify an image, change models while the server runs, ask the doctor. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freePort } from '../support/machine/free-port.js';
import { temporaryDirectory } from '../support/machine/temporary-directory.js';
import { runTriton } from '../support/programs/run-triton.js';
import { httpPort, type ServeProgram, serveProgram } from '../support/programs/serve-program.js';
import { httpRequest } from '../support/wire/http-request.js';

const FIXTURES = fileURLToPath(new URL('../../../fixtures', import.meta.url));
const MODELS = [
  'densenet_onnx',
  'simple',
  'simple_dyna_sequence',
  'simple_identity',
  'simple_int8',
  'simple_sequence',
  'simple_string',
];
const ROW = (model: string, version = '1', status = 'READY'): RegExp =>
  new RegExp(`^\\| ${model} +\\| ${version} +\\| ${status} +\\|$`, 'm');

describe('quickstart', () => {
  const directory = temporaryDirectory();
  const repository = directory.file('models');
  let server: ServeProgram | undefined;

  async function serve(...args: string[]): Promise<{ port: number; running: ServeProgram }> {
    const running = serveProgram(repository, args);
    server = running;
    await running.printed(/Started Metrics Service/);
    return { port: await httpPort(running), running };
  }

  before(async () => {
    const { status, stderr } = await runTriton(['repo', 'init', repository]);
    assert.equal(status, 0, stderr);
  });

  afterEach(async () => {
    server?.kill('SIGTERM');
    await server?.ended();
    server = undefined;
  });

  after(() => directory.remove());

  test('one command makes the repository', () => assert.deepEqual(readdirSync(repository).sort(), MODELS));

  test('published models can be had by name; without a network the error names the address, and nothing is left', async () => {
    const list = await runTriton(['repo', 'fetch', '--list']);
    for (const name of ['densenet_onnx', 'inception_v1_onnx'])
      assert.match(list.stdout, new RegExp(`^│ ${name} `, 'm'));
    const target = directory.file('fetched');
    const mirror = `127.0.0.1:${await freePort()}`;
    const places = ['--repository', target, '--mirror', `http://${mirror}`, '--cache', directory.file('cache')];
    const { status, stderr } = await runTriton(['repo', 'fetch', 'densenet_onnx', ...places], {
      env: { NO_PROXY: '127.0.0.1', no_proxy: '127.0.0.1' },
    });
    assert.equal(status, 1);
    assert.ok(stderr.startsWith(`triton repo fetch: cannot download from ${mirror}: `), stderr);
    assert.deepEqual(existsSync(target) ? readdirSync(target) : [], []);
  });

  test('serve prints every model as READY and its three ports, and the image client names the mug', async () => {
    const { port, running } = await serve();
    assert.match(running.output(), /^\| Model +\| Version \| Status \|$/m);
    for (const model of MODELS) assert.match(running.output(), ROW(model));
    for (const service of ['GRPCInferenceService', 'HTTPService', 'Metrics Service']) {
      assert.match(running.output(), new RegExp(`"Started ${service} at 127\\.0\\.0\\.1:\\d+"`));
    }
    const mug = path.join(FIXTURES, 'images/mug.jpg');
    const url = `127.0.0.1:${port}`;
    const run = await runTriton(['image-client', '-m', 'densenet_onnx', '-c', '3', '-s', 'INCEPTION', '-u', url, mug]);
    assert.deepEqual([run.status, run.stderr], [0, '']);
    const [head, image, ...classes] = run.stdout.trimEnd().split('\n');
    assert.deepEqual([head, image], ['Request 0, batch size 1', `Image '${mug}':`]);
    assert.match(classes[0] ?? '', /^ {4}\d+\.\d{6} \(0\) = COFFEE MUG$/);
    assert.equal(classes.length, 3);
    for (const line of classes) assert.match(line, /^ {4}-?\d+\.\d{6} \(\d+\) = [A-Z ]+$/);
  });

  test('a path above or inside of the repository: the right one is named, and no server comes up', async () => {
    for (const [wrong, advice] of [
      [directory.path, `'${directory.path}' holds no models itself, but this directory in it does`],
      [path.join(repository, 'simple'), `'${repository}/simple' is the directory of one model`],
    ] as const) {
      const { status, stderr } = await runTriton(['serve', `--model-repository=${wrong}`]);
      assert.equal(status, 1);
      assert.ok(stderr.includes(advice), stderr);
      assert.ok(stderr.endsWith(`: --model-repository=${repository}\n`), stderr);
    }
  });

  test('a poll finds a model that is added while the server runs', async () => {
    const { port, running } = await serve('--model-control-mode=poll', '--repository-poll-secs=1');
    const onnx = path.join(FIXTURES, 'models/simple/1/model.onnx');
    const add = await runTriton(['repo', 'add', onnx, '--name', 'added', '--repository', repository]);
    assert.equal(add.status, 0, add.stderr);
    await running.printed(/successfully loaded 'added'/);
    assert.equal((await httpRequest(port, 'GET', '/v2/models/added/ready')).status, 200);
  });

  test('in mode explicit models come and go by request', async () => {
    const { port } = await serve('--model-control-mode=explicit', '--load-model=simple');
    const status = async (model: string): Promise<number> =>
      (await httpRequest(port, 'GET', `/v2/models/${model}/ready`)).status;
    assert.deepEqual([await status('simple'), await status('simple_string')], [200, 400]);
    for (const action of ['simple_string/load', 'simple/unload']) {
      assert.equal((await httpRequest(port, 'POST', `/v2/repository/models/${action}`)).status, 200, action);
    }
    assert.deepEqual([await status('simple'), await status('simple_string')], [400, 200]);
  });

  test('the doctor says in words what is there, what is missing and what would be used', async () => {
    const { status, stdout } = await runTriton(['doctor']);
    assert.equal(status, 0, stdout);
    for (const subject of ['Node', 'ONNX Runtime', 'NVIDIA GPU', 'CUDA libraries', 'Python', 'Ports']) {
      assert.match(stdout, new RegExp(`^(ok|missing|WARNING|ERROR) +${subject}: `, 'm'));
    }
    assert.match(stdout, /^Serving is possible\.\nONNX models would run on .*\.\nPython models (could|would) /m);
  });
});
