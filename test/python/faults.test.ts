/** What clients see, and what stays behind, when a Python model or its process goes wrong. */
import assert from 'node:assert/strict';
import { chmodSync, existsSync, readdirSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { isAlive, until } from '../support/machine/processes.js';
import { pythonWithNumpy } from '../support/programs/python.js';
import { httpPort, type ServeProgram, serveProgram } from '../support/programs/serve-program.js';
import { identityModel, makeRepository, pythonModels } from '../support/repositories/make-repository.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';
import { httpRequest } from '../support/wire/http-request.js';

const python = pythonWithNumpy();

/** TRITON_TEST_FULL=1: a hundred kills and an output of 1 GB, for which CI has neither the time nor the memory. */
const FULL = process.env['TRITON_TEST_FULL'] === '1';
const KILLS = FULL ? 100 : 5;
const LARGE_ELEMENTS = FULL ? 125_000_000 : 25_000_000;
const HEAD = 'import json, os, time\nimport numpy as np\nimport triton_python_backend_utils as pb_utils\n';
const TENSORS = `input { name: "MODE" data_type: TYPE_STRING dims: [ 1 ] }
  output { name: "OUT" data_type: TYPE_INT64 dims: [ -1 ] }`;

const FAULTY = `${HEAD}
class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(r, pb_utils.get_input_tensor_by_name(r, "MODE").as_numpy()[0].decode()) for r in requests]
    def answer(self, request, mode):
        if mode == "exit":
            os._exit(3)
        if mode == "loop":
            while True:
                pass
        if mode == "large":
            return pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.arange(${LARGE_ELEMENTS}))])
        if mode == "print":
            print("said by the model")
        if mode == "drop":
            return None
        return pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([os.getpid()]))])
    def finalize(self):
        raise RuntimeError("cannot end")
`;

const faulty = {
  'faulty/config.pbtxt': `backend: "python" max_batch_size: 0 ${TENSORS}`,
  'faulty/1/model.py': FAULTY,
};

interface Answer {
  readonly error?: string;
  readonly outputs?: readonly { readonly data: readonly number[] }[];
}

async function infer(port: number, mode: string): Promise<Answer> {
  const body = { inputs: [{ name: 'MODE', datatype: 'BYTES', shape: [1], data: [mode] }] };
  const { json } = await httpRequest(port, 'POST', '/v2/models/faulty/infer', JSON.stringify(body));
  return json as Answer;
}

async function pidOf(port: number): Promise<number> {
  return (await infer(port, 'pid')).outputs![0]!.data[0]!;
}

describe('faults of Python models', { skip: python === undefined }, () => {
  const repository = makeRepository({
    ...faulty,
    ...identityModel('other', [['TYPE_INT32', '[ 1 ]']], 'max_batch_size: 0'),
  });
  let server: TestServer;

  before(async () => {
    server = await startTestServer([repository.path], [`--backend-config=python,python-executable=${python}`]);
  });

  after(async () => {
    await server?.stop();
    repository.remove();
  });

  test('a process that ends fails its request and is started again', async () => {
    const first = await pidOf(server.http);
    assert.deepEqual(await infer(server.http, 'exit'), { error: "Stub process 'faulty_0' is not healthy." });
    await until('the model must answer again', async () => (await infer(server.http, 'pid')).error === undefined);
    const second = await pidOf(server.http);
    assert.notEqual(second, first);
    assert.match(server.logText(), /Stub process 'faulty_0' is not healthy\. It ended/);
  });

  test('readiness is true while the process starts', async () => {
    process.kill(await pidOf(server.http), 'SIGKILL');
    const ready = async (target: string) => (await httpRequest(server.http, 'GET', target)).status === 200;
    await until('the model must turn not ready', async () => !(await ready('/v2/models/faulty/ready')));
    await until('the model must become ready', () => ready('/v2/models/faulty/ready'));
    assert.equal(await ready('/v2/health/ready'), true);
  });

  test('killed under load again and again: every request gets its response, other models go on', async () => {
    const other = JSON.stringify({ inputs: [{ name: 'INPUT0', datatype: 'INT32', shape: [1], data: [1] }] });
    let running = true;
    const load = Array.from({ length: 4 }, async () => {
      while (running) {
        const answer = await infer(server.http, 'pid');
        if (answer.error !== undefined) assert.equal(answer.error, "Stub process 'faulty_0' is not healthy.");
      }
    });
    for (let i = 0; i < KILLS; i++) {
      let pid: number | undefined;
      await until('the model must answer', async () => {
        pid = (await infer(server.http, 'pid')).outputs?.[0]?.data[0];
        return pid !== undefined;
      });
      process.kill(pid!, 'SIGKILL');
      assert.equal((await httpRequest(server.http, 'POST', '/v2/models/other/infer', other)).status, 200);
      await until('the process must be gone', () => !isAlive(pid!));
    }
    running = false;
    await Promise.all(load);
  });

  test('large outputs arrive', async () => {
    const body = JSON.stringify({
      inputs: [{ name: 'MODE', datatype: 'BYTES', shape: [1], data: ['large'] }],
      outputs: [{ name: 'OUT', parameters: { binary_data: true } }],
    });
    const options = { port: server.http, host: '127.0.0.1', method: 'POST', path: '/v2/models/faulty/infer' };
    let bytes = 0;
    let last = Buffer.alloc(0);
    let header = 0;
    await new Promise<void>((resolve, reject) => {
      const request = http.request({ ...options, agent: false }, (response) => {
        header = Number(response.headers['inference-header-content-length']);
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          last = Buffer.concat([last, chunk.subarray(-8)]).subarray(-8);
        });
        response.on('end', resolve).on('error', reject);
      });
      request.on('error', reject);
      request.end(body);
    });
    assert.equal(bytes - header, LARGE_ELEMENTS * 8);
    assert.equal(last.readBigInt64LE(), BigInt(LARGE_ELEMENTS - 1));
  });

  test('a request that the model drops is answered with an error', async () => {
    assert.deepEqual(await infer(server.http, 'drop'), { error: 'the model dropped the request without a response' });
  });
});

describe('exceptions in every method, and what execute must not return', { skip: python === undefined }, () => {
  const model = (body: string): string => `${HEAD}\nclass TritonPythonModel:\n${body.replace(/^/gm, '    ')}`;
  const OK = 'def execute(self, requests):\n    return [pb_utils.InferenceResponse([]) for _ in requests]';
  const execute = (result: string): string => model(`def execute(self, requests):\n    return ${result}`);
  const loading: Readonly<Record<string, [source: string, reason: RegExp]>> = {
    importing: [
      `${HEAD}raise ValueError("no")`,
      /Internal: ValueError: no\n\nAt:\n {2}.*importing\/1\/model\.py\(4\): <module>/,
    ],
    completing: [
      model(`@staticmethod\ndef auto_complete_config(config):\n    raise ValueError("no")\n${OK}`),
      /Internal: ValueError: no\n\nAt:\n {2}.*completing\/1\/model\.py\(\d+\): auto_complete_config/,
    ],
    initializing: [
      model(`def initialize(self, args):\n    raise ValueError("no")\n${OK}`),
      /Internal: ValueError: no\n\nAt:\n {2}.*initializing\/1\/model\.py\(\d+\): initialize/,
    ],
    leaving: [
      model(`def initialize(self, args):\n    os._exit(1)\n${OK}`),
      /Stub process 'leaving_0' is not healthy\./,
    ],
  };
  const failed = (instance: string): string => `Failed to process the request(s) for model '${instance}', message: `;
  const executing: Readonly<Record<string, [source: string, error: RegExp | string]>> = {
    raising: [
      model('def execute(self, requests):\n    raise KeyError("x")'),
      /message: KeyError: 'x'\n\nAt:\n {2}.*raising\/1\/model\.py\(\d+\): execute/,
    ],
    exiting: [model('def execute(self, requests):\n    raise SystemExit(3)'), /message: SystemExit: 3/],
    many: [
      execute('[pb_utils.InferenceResponse([])] * 2'),
      `${failed('many_0')}Number of InferenceResponse objects do not match the number of InferenceRequest objects. ` +
        'InferenceRequest(s) size is:1, and InferenceResponse(s) size is:2\n',
    ],
    tuple: [
      execute('(1,)'),
      `${failed('tuple_0')}Expected a list in the execute return, found type '<class 'tuple'>'.`,
    ],
    number: [
      execute('[1]'),
      `${failed('number_0')}Expected an 'InferenceResponse' object in the execute function return list, ` +
        "found type '<class 'int'>'.",
    ],
    unready: [model(`def is_ready(self):\n    raise ValueError("no")\n${OK}`), ''],
  };
  const config = `backend: "python" max_batch_size: 0
    input { name: "MODE" data_type: TYPE_STRING dims: [ 1 ] } output { name: "OUT" data_type: TYPE_INT64 dims: [ 1 ] }`;
  const sources = Object.entries({ ...loading, ...executing }).map(([name, [source]]) => [name, source] as const);
  const repository = makeRepository(pythonModels(config, Object.fromEntries(sources)));
  let server: TestServer;

  before(async () => {
    server = await startTestServer(
      [repository.path],
      ['--model-control-mode=explicit', `--backend-config=python,python-executable=${python}`],
    );
  });

  after(async () => {
    await server?.stop();
    repository.remove();
  });

  for (const [name, [, reason]] of Object.entries(loading)) {
    test(`${name}: the load fails with the reason`, async () => {
      const { status, json } = await httpRequest(server.http, 'POST', `/v2/repository/models/${name}/load`);
      assert.equal(status, 400);
      assert.match((json as Answer).error!, reason);
    });
  }

  for (const [name, [, error]] of Object.entries(executing)) {
    test(`${name}: the request fails with what went wrong, and the process goes on`, async () => {
      const load = await httpRequest(server.http, 'POST', `/v2/repository/models/${name}/load`);
      assert.equal(load.status, 200, load.text);
      const ready = await httpRequest(server.http, 'GET', `/v2/models/${name}/ready`);
      assert.equal(ready.status, name === 'unready' ? 400 : 200);
      const body = JSON.stringify({ inputs: [{ name: 'MODE', datatype: 'BYTES', shape: [1], data: ['x'] }] });
      for (let i = 0; i < 2; i++) {
        const { json } = await httpRequest(server.http, 'POST', `/v2/models/${name}/infer`, body);
        const text = (json as Answer).error ?? '';
        if (typeof error === 'string') assert.equal(text, error);
        else assert.match(text, error);
      }
      assert.doesNotMatch(server.logText(), new RegExp(`Stub process '${name}_0' is not healthy`));
    });
  }
});

describe('ends of the server', { skip: python === undefined }, () => {
  const repository = makeRepository(faulty);
  after(() => repository.remove());

  const start = (args: readonly string[] = []): ServeProgram =>
    serveProgram(repository.path, [`--backend-config=python,python-executable=${python}`, ...args]);

  test('what a model prints shows at once, as it is', async () => {
    const program = start();
    const port = await httpPort(program);
    await infer(port, 'print');
    await program.printed(/^said by the model$/m);
    program.kill('SIGKILL');
    await program.ended();
  });

  test('an exception in finalize is logged and changes nothing', async () => {
    const program = start();
    const port = await httpPort(program);
    const pid = await pidOf(port);
    program.kill('SIGTERM');
    const { status, output } = await program.ended();
    assert.equal(status, 0, output);
    assert.match(output, /RuntimeError: cannot end/);
    await until('the process of the model must be gone', () => !isAlive(pid));
  });

  test('a model that never returns ends with the exit timeout', async () => {
    const program = start(['--exit-timeout-secs=1']);
    const port = await httpPort(program);
    const pid = await pidOf(port);
    infer(port, 'loop').catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 100));
    program.kill('SIGTERM');
    const { status, output } = await program.ended();
    assert.equal(status, 1, output);
    assert.match(output, /Exit timeout expired\. Exiting immediately\./);
    await until('the process of the model must be gone', () => !isAlive(pid));
  });

  test('nothing stays behind when the server is killed, even from a model that never returns', async () => {
    const program = start();
    const port = await httpPort(program);
    const pid = await pidOf(port);
    infer(port, 'loop').catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 100));
    program.kill('SIGKILL');
    await program.ended();
    await until('the process of the model must be gone', () => !isAlive(pid));
    if (existsSync('/dev/shm')) {
      const left = readdirSync('/dev/shm').filter((name) => name.startsWith(`triton-python-${program.pid}-`));
      assert.deepEqual(left, []);
    }
  });
});

describe('Python models without what they need', { skip: python === undefined }, () => {
  const repository = makeRepository({
    ...faulty,
    ...identityModel('other', [['TYPE_INT32', '[ 1 ]']], 'max_batch_size: 0'),
    // Without `site` the interpreter finds no installed packages.
    'bare/python': `#!/bin/sh\nexec '${python}' -S -E "$@"\n`,
    'none/.keep': '',
  });
  chmodSync(path.join(repository.path, 'bare/python'), 0o755);
  after(() => repository.remove());

  const cases: readonly [what: string, executable: string, text: RegExp][] = [
    [
      'numpy',
      `${repository.path}/bare/python`,
      /Python models need numpy, and .* cannot import it .*: install it with/,
    ],
    [
      'Python',
      `${repository.path}/none/python`,
      /need a Python interpreter, and '.*' cannot be started .*: install Python 3/,
    ],
  ];
  for (const [what, executable, text] of cases) {
    test(`without ${what} the reason says how to get it, and other models serve`, async () => {
      const server = await startTestServer(
        [repository.path],
        [
          '--model-control-mode=explicit',
          '--load-model=other',
          '--exit-on-error=false',
          `--backend-config=python,python-executable=${executable}`,
        ],
      );
      try {
        const answer = await httpRequest(server.http, 'POST', '/v2/repository/models/faulty/load');
        assert.equal(answer.status, 400);
        assert.match((answer.json as Answer).error!, text);
        assert.equal((await httpRequest(server.http, 'GET', '/v2/models/other/ready')).status, 200);
      } finally {
        await server.stop();
      }
    });
  }
});
