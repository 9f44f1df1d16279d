/** Starts of the program that must fail with a clear error, or come up in spite of one. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { FREE_PORTS } from '../support/machine/free-port.js';
import { type ProgramRun, runTriton, TRITON } from '../support/programs/run-triton.js';
import { httpPort, metricsPort, serveProgram } from '../support/programs/serve-program.js';
import { identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer } from '../support/servers/test-server.js';
import { httpRequest } from '../support/wire/http-request.js';

const run = (...args: string[]): Promise<ProgramRun> => runTriton(['serve', ...FREE_PORTS, ...args]);

const lastLine = ({ stderr }: ProgramRun): string => stderr.trimEnd().split('\n').at(-1) ?? '';

test('no repository, a missing directory, a file: named at once', async () => {
  const none = await run();
  assert.deepEqual(
    [none.status, lastLine(none)],
    [1, 'error: creating server: Invalid argument - --model-repository must be specified'],
  );
  const missing = await run('--model-repository=/no/such/folder');
  assert.equal(missing.status, 1);
  assert.match(
    lastLine(missing),
    /^error: creating server: Internal - failed to stat file \/no\/such\/folder\. There is no such directory; the nearest that exists is '\/'\./,
  );
  const file = await run(`--model-repository=${TRITON}`);
  assert.equal(file.status, 1);
  assert.match(lastLine(file), /is a file; a model repository is a directory of model directories/);
});

test("the directory above the repository and one model's directory: the right one is named", async () => {
  const parent = makeRepository(
    Object.fromEntries(Object.entries(identityModel('m', [['TYPE_INT32', '1']])).map(([k, v]) => [`models/${k}`, v])),
  );
  try {
    for (const wrong of [parent.path, `${parent.path}/models/m`]) {
      const result = await run(`--model-repository=${wrong}`);
      assert.equal(result.status, 1, wrong);
      assert.match(lastLine(result), new RegExp(`--model-repository=${parent.path}/models$`), wrong);
    }
  } finally {
    parent.remove();
  }
});

test('a broken configuration or model file ends the start, unless --exit-on-error=false', async () => {
  const onnx =
    'backend: "onnxruntime"\nmax_batch_size: 0\ninput { name: "A" data_type: TYPE_FP32 dims: 1 }\noutput { name: "B" data_type: TYPE_FP32 dims: 1 }\n';
  const repository = makeRepository({
    ...identityModel('good', [['TYPE_INT32', '1']]),
    'pbtxt/config.pbtxt': 'name: "pbtxt"\nfoo: 1\n',
    'onnx/config.pbtxt': `name: "onnx"\n${onnx}`,
    'onnx/1/model.onnx': 'this is no ONNX file',
    'unreadable/config.pbtxt/file': 'a folder where the file should be',
  });
  try {
    const ended = await run(`--model-repository=${repository.path}`);
    assert.equal(ended.status, 1);
    assert.equal(lastLine(ended), 'error: creating server: Internal - failed to load all models');
    assert.match(
      ended.stderr,
      /Poll failed for model directory 'pbtxt': failed to read text proto from .*pbtxt\/config\.pbtxt/,
    );
    assert.match(ended.stderr, /2:4: Message type \\?"inference\.ModelConfig\\?" has no field named \\?"foo\\?"/);
    assert.match(ended.stderr, /failed to load 'onnx' version 1: /);
    assert.match(ended.stderr, /Poll failed for model directory 'unreadable'/);

    const program = serveProgram(repository.path, ['--exit-on-error=false']);
    const port = await httpPort(program);
    await metricsPort(program);
    assert.equal((await httpRequest(port, 'GET', '/v2/health/live')).status, 200);
    assert.equal((await httpRequest(port, 'GET', '/v2/models/good/ready')).status, 200);
    assert.equal((await httpRequest(port, 'GET', '/v2/models/onnx/ready')).status, 400);
    program.kill('SIGTERM');
    const result = await program.ended();
    assert.equal(result.status, 0);
    assert.match(result.output, /^Signal \(15\) received\.$/m);
  } finally {
    repository.remove();
  }
});

test('models of backends that are not here are named in one line each, and the others come up', async () => {
  const onnx = fileURLToPath(new URL('../../../fixtures/models/simple/1/model.onnx', import.meta.url));
  const repository = makeRepository({
    'detection/1/model.onnx': readFileSync(onnx),
    'script/1/model.pt': 'x',
    'script/config.pbtxt': 'platform: "pytorch_libtorch"',
    'graph/1/model.graphdef': 'x',
    'saved/1/model.savedmodel/saved_model.pb': 'x',
    'plan/1/model.plan': 'x',
    'ir/1/model.xml': 'x',
  });
  const server = await startTestServer([repository.path], ['--exit-on-error=false']);
  try {
    const log = server.logText();
    for (const [name, missing] of [
      ['script', 'TorchScript needs libtorch'],
      ['graph', 'TensorFlow models need TensorFlow'],
      ['saved', 'TensorFlow models need TensorFlow'],
      ['plan', 'TensorRT plans need an NVIDIA GPU and TensorRT'],
      ['ir', 'OpenVINO is not part of this program'],
    ]) {
      assert.match(log, new RegExp(`^W.*model '${name}' cannot run here: ${missing}.*ONNX.*$`, 'm'));
      assert.match(
        log,
        new RegExp(`\\| ${name} +\\| 1 +\\| UNAVAILABLE: Invalid argument: unable to find backend library`),
      );
    }
    assert.match(log, /\| detection \| 1 +\| READY/);
    assert.equal((await httpRequest(server.http, 'GET', '/v2/models/detection/ready')).status, 200);
  } finally {
    await server.stop();
    repository.remove();
  }
});

test("a version's directory as the repository is warned of", async () => {
  const repository = makeRepository({ 'm/1/model.onnx': 'x' });
  const server = await startTestServer([`${repository.path}/m/1`]);
  try {
    assert.match(
      server.logText(),
      new RegExp(`^W.*Check --model-repository: .*--model-repository=${repository.path}`, 'm'),
    );
  } finally {
    await server.stop();
    repository.remove();
  }
});

test('a port in use is named, and everything started ends again', async () => {
  const repository = makeRepository(identityModel('m', [['TYPE_INT32', '1']]));
  const blocker = net.createServer();
  await new Promise<void>((resolve) => blocker.listen(0, '127.0.0.1', resolve));
  const { port } = blocker.address() as net.AddressInfo;
  try {
    for (const [name, title] of [
      ['http', 'HTTP'],
      ['grpc', 'GRPC'],
      ['metrics', 'Metrics'],
    ]) {
      const result = await run(`--model-repository=${repository.path}`, `--${name}-port=${port}`);
      assert.equal(result.status, 1);
      assert.match(
        result.stderr,
        new RegExp(`"failed to start ${title} service: Unavailable - Socket '127.0.0.1:${port}' already in use "`),
      );
      assert.match(result.stdout, /successfully unloaded 'm' version 1/);
    }
  } finally {
    blocker.close();
    repository.remove();
  }
});

test('without an engine the server stays up with --exit-on-error=false and says that it is not ready', async () => {
  const program = serveProgram('/no/such/folder', ['--exit-on-error=false']);
  const port = await httpPort(program);
  assert.deepEqual(
    [
      (await httpRequest(port, 'GET', '/v2/health/live')).status,
      (await httpRequest(port, 'GET', '/v2/health/ready')).status,
    ],
    [400, 400],
  );
  assert.equal((await httpRequest(port, 'GET', '/v2/models/m')).text, '{"error":"Server not ready"}');
  program.kill('SIGINT');
  assert.equal((await program.ended()).status, 0);
});
