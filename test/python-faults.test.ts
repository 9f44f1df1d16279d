/** What clients see, and what stays behind, when a Python model or its process goes wrong. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { pythonWithNumpy } from './support/python.js';
import { httpRequest, identityModel, makeRepository, startTestServer, type TestServer } from './support/test-server.js';

const TRITON = fileURLToPath(new URL('../../bin/triton.js', import.meta.url));
const python = pythonWithNumpy();
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
            return pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.arange(25_000_000))])
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

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A zombie whose parent was killed waits for init.
    return !existsSync('/proc') || !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let i = 0; i < 2400; i++) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  assert.fail(what);
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
    const second = await pidOf(server.http);
    assert.notEqual(second, first);
    assert.match(server.logText(), /Stub process 'faulty_0' is not healthy\. It ended/);
  });

  test('readiness tells the truth while the process starts', async () => {
    process.kill(await pidOf(server.http), 'SIGKILL');
    const ready = async (target: string) => (await httpRequest(server.http, 'GET', target)).status === 200;
    await until('the model must turn not ready', async () => !(await ready('/v2/models/faulty/ready')));
    await until('the model must become ready', () => ready('/v2/models/faulty/ready'));
    assert.equal(await ready('/v2/health/ready'), true);
  });

  test('killed under load again and again: every request is answered, other models go on', async () => {
    const other = JSON.stringify({ inputs: [{ name: 'INPUT0', datatype: 'INT32', shape: [1], data: [1] }] });
    let running = true;
    const load = Array.from({ length: 4 }, async () => {
      while (running) {
        const answer = await infer(server.http, 'pid');
        if (answer.error !== undefined) assert.equal(answer.error, "Stub process 'faulty_0' is not healthy.");
      }
    });
    for (let i = 0; i < 5; i++) {
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
    const { body: answer, headers } = await httpRequest(server.http, 'POST', '/v2/models/faulty/infer', body);
    const data = answer.subarray(Number(headers['inference-header-content-length']));
    assert.equal(data.length, 200_000_000);
    assert.equal(data.readBigInt64LE(199_999_992), 24_999_999n);
  });

  test('a request that the model drops is answered with an error', async () => {
    assert.deepEqual(await infer(server.http, 'drop'), { error: 'the model dropped the request without a response' });
  });
});

describe('ends of the server', { skip: python === undefined }, () => {
  const repository = makeRepository(faulty);
  after(() => repository.remove());

  async function start(args: readonly string[]): Promise<{ child: ChildProcess; port: number; text: () => string }> {
    const child = spawn(
      process.execPath,
      [
        TRITON,
        'serve',
        `--model-repository=${repository.path}`,
        `--backend-config=python,python-executable=${python}`,
        ...['http', 'grpc', 'metrics'].flatMap((name) => [`--${name}-port=0`, `--${name}-address=127.0.0.1`]),
        ...args,
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    let text = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream!.on('data', (chunk) => {
        text += chunk;
      });
    }
    await until(`the server must start: ${text}`, () => /Started HTTPService at 127\.0\.0\.1:\d+/.test(text));
    return { child, port: Number(/Started HTTPService at 127\.0\.0\.1:(\d+)/.exec(text)![1]), text: () => text };
  }

  test('an exception in finalize is logged and changes nothing', async () => {
    const { child, port, text } = await start([]);
    const pid = await pidOf(port);
    child.kill('SIGTERM');
    const [status] = await once(child, 'exit');
    assert.equal(status, 0, text());
    assert.match(text(), /RuntimeError: cannot end/);
    await until('the process of the model must be gone', () => !isAlive(pid));
  });

  test('a model that never returns ends with the exit timeout', async () => {
    const { child, port, text } = await start(['--exit-timeout-secs=1']);
    const pid = await pidOf(port);
    infer(port, 'loop').catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 100));
    child.kill('SIGTERM');
    const [status] = await once(child, 'exit');
    assert.equal(status, 1, text());
    assert.match(text(), /Exit timeout expired\. Exiting immediately\./);
    await until('the process of the model must be gone', () => !isAlive(pid));
  });

  test('nothing stays behind when the server is killed, even from a model that never returns', async () => {
    const { child, port } = await start([]);
    const pid = await pidOf(port);
    infer(port, 'loop').catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 100));
    child.kill('SIGKILL');
    await once(child, 'exit');
    await until('the process of the model must be gone', () => !isAlive(pid));
    if (existsSync('/dev/shm')) {
      const left = readdirSync('/dev/shm').filter((name) => name.startsWith(`triton-python-${child.pid}-`));
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
