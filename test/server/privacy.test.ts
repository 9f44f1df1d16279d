/** What the program's own dependencies would do behind its back: nothing is looked up or written anywhere. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { FREE_PORTS } from '../support/machine/free-port.js';
import { watchOutsideSockets } from '../support/machine/outside-sockets.js';
import { skipLoudly } from '../support/machine/skip-loudly.js';
import { temporaryDirectory } from '../support/machine/temporary-directory.js';
import { TRITON } from '../support/programs/run-triton.js';
import { makeRepository } from '../support/repositories/make-repository.js';
import { node, onnxModel } from '../support/repositories/onnx-builder.js';

const TELEMETRY = path.resolve(import.meta.dirname, '../../src/backends/onnxruntime/session/ort-telemetry.js');

/** An output whose shape the file leaves open: completion asks the runtime. */
const MODEL = onnxModel({
  inputs: [{ name: 'IN', dims: ['N', 4] }],
  outputs: [{ name: 'OUT' }],
  graph: [node('Relu', ['IN'], ['OUT'])],
});

interface Home {
  readonly env: NodeJS.ProcessEnv;
  /** Every file under the home, cache and temporary directories. */
  files(): string[];
  remove(): void;
}

/** Home, cache and temporary directories of a user who has set nothing. */
function freshHome(): Home {
  const { path: root, remove } = temporaryDirectory({ 'home/': '', 'tmp/': '' });
  const { ORT_DISABLE_TELEMETRY: _, XDG_CACHE_HOME: __, ...rest } = process.env;
  return {
    env: { ...rest, HOME: path.join(root, 'home'), TMPDIR: path.join(root, 'tmp') },
    files: () =>
      readdirSync(root, { withFileTypes: true, recursive: true })
        .filter((entry) => !entry.isDirectory())
        .map((entry) => path.join(entry.parentPath, entry.name)),
    remove,
  };
}

/** Runs the program; once its output has `until` (if given), `then` is done and it gets SIGTERM. */
async function run(
  home: Home,
  args: readonly string[],
  until?: RegExp,
  then?: (found: RegExpExecArray) => Promise<void>,
): Promise<{ status: number | null; output: string; peers: string[] }> {
  const child = spawn(process.execPath, [TRITON, ...args], { env: home.env });
  const watch = watchOutsideSockets(child.pid as number);
  let output = '';
  let found = until === undefined;
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      const match = found ? null : until?.exec(output);
      if (match === null || match === undefined) return;
      found = true;
      void then?.(match).finally(() => child.kill('SIGTERM'));
    });
  }
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, output, peers: watch.stop() };
}

async function inferOnce(port: string): Promise<void> {
  const input = { name: 'IN', datatype: 'FP32', shape: [1, 4], data: [1, -1, 2, -2] };
  const response = await fetch(`http://127.0.0.1:${port}/v2/models/m/infer`, {
    method: 'POST',
    body: JSON.stringify({ inputs: [input] }),
  });
  assert.equal(response.status, 200, await response.text());
  // A library that reports in the background needs a moment to begin.
  await new Promise((resolve) => setTimeout(resolve, 1500));
}

describe('nothing is written or looked up behind the user', { skip: !existsSync('/proc/self/net/tcp') }, () => {
  if (!existsSync('/proc/self/net/tcp')) skipLoudly('no /proc: what a process connects to cannot be seen here');

  const ways: [string, (repository: string) => string[], RegExp?][] = [
    [
      'serve',
      (path) => ['serve', `--model-repository=${path}`, ...FREE_PORTS],
      /Started HTTPService at 127\.0\.0\.1:(\d+)/,
    ],
    ['repo validate', (path) => ['repo', 'validate', path]],
    ['doctor', () => ['doctor']],
  ];
  for (const [name, args, until] of ways) {
    test(name, async () => {
      const repository = makeRepository({ 'm/1/model.onnx': MODEL });
      const home = freshHome();
      try {
        const infer = (found: RegExpExecArray): Promise<void> => inferOnce(found[1] as string);
        const { status, output, peers } = await run(home, args(repository.path), until, infer);
        if (name !== 'doctor') assert.equal(status, 0, output);
        assert.deepEqual(peers, [], output);
        assert.deepEqual(home.files(), [], output);
      } finally {
        home.remove();
        repository.remove();
      }
    });
  }
});

test('the telemetry of onnxruntime-node is off, unless the user has set it', () => {
  const script = `import(${JSON.stringify(TELEMETRY)}).then(() => console.log(process.env.ORT_DISABLE_TELEMETRY))`;
  const valueWith = (env: NodeJS.ProcessEnv): string =>
    spawnSync(process.execPath, ['-e', script], { env: { PATH: process.env['PATH'], ...env } }).stdout.toString();
  assert.equal(valueWith({}), '1\n');
  assert.equal(valueWith({ ORT_DISABLE_TELEMETRY: '0' }), '0\n');
});

const ALONE = ['--net', '--', 'sh', '-c', 'ip link set lo up 2>/dev/null || ifconfig lo up; exec "$@"', 'sh'];

test('a server without any network but loopback starts, answers and stops as any other', async (t) => {
  const probe = [
    ...ALONE,
    process.execPath,
    '-e',
    "require('net').connect(1, '127.0.0.1').on('error', (e) => console.log(e.code))",
  ];
  if (spawnSync('unshare', probe).stdout?.toString().trim() !== 'ECONNREFUSED') {
    skipLoudly('no network namespaces for this user: the server without a network is not tested');
    t.skip('no network namespaces');
    return;
  }
  const repository = makeRepository({ 'm/1/model.onnx': MODEL });
  const home = freshHome();
  try {
    // The client has to be in the namespace, too: one process starts the server there, asks it and stops it.
    const script = `
      const child = require('child_process').spawn(process.execPath, [${JSON.stringify(TRITON)}, 'serve',
        '--model-repository=${repository.path}', '--http-port=0', '--grpc-port=0', '--metrics-port=0']);
      let text = '';
      child.stdout.on('data', async (part) => {
        const had = /HTTPService at/.test(text);
        text += part;
        const port = /HTTPService at [^"]*:(\\d+)/.exec(text)?.[1];
        if (had || port === undefined) return;
        const input = { name: 'IN', datatype: 'FP32', shape: [1, 4], data: [1, -1, 2, -2] };
        const body = JSON.stringify({ inputs: [input] });
        const response = await fetch('http://127.0.0.1:' + port + '/v2/models/m/infer', { method: 'POST', body });
        console.log(response.status, JSON.stringify((await response.json()).outputs[0].data));
        child.kill('SIGTERM');
      });
      child.on('close', (status) => console.log('exit', status));`;
    const { stdout, stderr } = spawnSync('unshare', [...ALONE, process.execPath, '-e', script], {
      env: home.env,
      timeout: 120_000,
    });
    assert.equal(stdout.toString(), '200 [1,0,2,0]\nexit 0\n', stderr.toString());
  } finally {
    home.remove();
    repository.remove();
  }
});
