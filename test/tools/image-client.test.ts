/** The image client on the example images, against the project's own server. */
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runImageClient } from '../../src/image/run-image-client.js';
import { imageTensor } from '../../src/image/write-tensor.js';
import { temporaryDirectory } from '../support/machine/temporary-directory.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';

const FIXTURES = fileURLToPath(new URL('../../../fixtures', import.meta.url));
const IMAGES = path.join(FIXTURES, 'images');
const MUG = path.join(IMAGES, 'mug.jpg');

let server: TestServer;
const directory = temporaryDirectory();

before(async () => {
  server = await startTestServer([path.join(FIXTURES, 'models')]);
});

after(async () => {
  await server.stop();
  directory.remove();
});

async function run(...args: string[]): Promise<{ status: number; stdout: string; stderr: string }> {
  const output = { stdout: '', stderr: '' };
  const sink = (name: keyof typeof output) => ({
    write: (text: string | Uint8Array) => {
      output[name] += Buffer.from(text as Uint8Array).toString('utf8');
    },
  });
  const status = await runImageClient(args, sink('stdout'), sink('stderr'));
  return { status, ...output };
}

const http = (): string[] => ['-m', 'densenet_onnx', '-s', 'INCEPTION', '-u', `127.0.0.1:${server.http}`];
const grpc = (): string[] => ['-m', 'densenet_onnx', '-s', 'INCEPTION', '-i', 'gRPC', '-u', `127.0.0.1:${server.grpc}`];

test('names a image, best class first', async () => {
  const { status, stdout, stderr } = await run(...http(), '-c', '3', MUG);
  assert.deepEqual([status, stderr], [0, '']);
  const [head, image, first, ...rest] = stdout.split('\n');
  assert.deepEqual([head, image], ['Request 0, batch size 1', `Image '${MUG}':`]);
  assert.match(first!, /^ {4}\d+\.\d{6} \(0\) = COFFEE MUG$/);
  assert.equal(rest.length, 3);
});

test('a directory: every image by name, the same over every way of sending', async () => {
  const images = directory.file('images');
  mkdirSync(images);
  for (const name of ['mug.jpg', 'car.jpg', 'clock.png'])
    copyFileSync(path.join(IMAGES, name), path.join(images, name));
  const expected = await run(...http(), images);
  assert.equal(expected.status, 0);
  assert.deepEqual(
    expected.stdout.split('\n').filter((line) => line.startsWith('Image')),
    ['car.jpg', 'clock.png', 'mug.jpg'].map((name) => `Image '${images}/${name}':`),
  );
  for (const label of ['PASSENGER CAR', 'ANALOG CLOCK', 'COFFEE MUG'])
    assert.ok(expected.stdout.includes(`= ${label}\n`));
  for (const way of [[...http(), '-a'], grpc(), [...grpc(), '-a'], [...grpc(), '-a', '--streaming']]) {
    assert.deepEqual(await run(...way, images), expected);
  }
});

test('-p writes the first input, -v the request', async () => {
  const file = directory.file('input.raw');
  const { status, stdout } = await run(...http(), '-v', '-p', file, MUG);
  assert.equal(status, 0);
  const header =
    '{"id":"0","inputs":[{"name":"data_0","datatype":"FP32","shape":[3,224,224],"parameters":{"binary_data_size":602112}}],' +
    '"outputs":[{"name":"fc6_1","parameters":{"classification":1,"binary_data":true}}]}';
  assert.ok(stdout.startsWith(`inference request: ${header}\nRequest 0,`), stdout);
  assert.deepEqual(readFileSync(file), Buffer.from(await imageTensor([MUG, '224', '224', 'INCEPTION', 'NCHW'])));
});

test('headers are sent; over gRPC with a warning', async () => {
  assert.equal((await run(...http(), '-H', 'X-Key: v', MUG)).stderr, '');
  const { status, stderr } = await run(...grpc(), '-H', 'X-Key: v', MUG);
  assert.equal(status, 0);
  assert.equal(stderr, 'WARNING: HTTP headers specified with -H are ignored when using non-HTTP protocol.\n');
});

test('what cannot work ends with one line and status 1', async () => {
  mkdirSync(directory.file('empty'));
  writeFileSync(directory.file('text.jpg'), 'no image');
  writeFileSync(directory.file('nothing.jpg'), '');
  const at = (name: string): string => directory.file(name);
  const cases: readonly [args: string[], stderr: string][] = [
    [[...http(), at('none.jpg')], `Failed to find '${at('none.jpg')}': No such file or directory`],
    [[...http(), at('empty')], `error: no image in folder '${at('empty')}': it is empty`],
    [[...http(), at('text.jpg')], `error: unable to decode image ${at('text.jpg')}`],
    [[...http(), at('nothing.jpg')], `error: unable to read image file ${at('nothing.jpg')} (it is empty)`],
    [[...http(), '-b', '2', MUG], "batching not supported for model 'densenet_onnx'"],
    [[...grpc(), '-b', '2', MUG], 'batching not supported for model "densenet_onnx"'],
    [[...http(), '-m', 'simple', MUG], 'expecting 1 input, got 2'],
    [
      [...http(), '-u', 'ftp://h', MUG],
      "error: unable to create client for inference: unsupported protocol 'ftp' in 'ftp://h'; expected http or https",
    ],
  ];
  for (const [args, stderr] of cases) {
    assert.deepEqual(await run(...args), { status: 1, stdout: '', stderr: `${stderr}\n` });
  }
});

test('an unknown model, and a server that is not there: every failed question is reported', async () => {
  const unknown = "Request for unknown model: 'none' is not found";
  for (const way of [http(), grpc()]) {
    const { status, stderr } = await run(...way, '-m', 'none', MUG);
    const lines = [`error: failed to get model metadata: ${unknown}`, `error: failed to get model config: ${unknown}`];
    assert.deepEqual([status, stderr], [1, `${lines.join('\n')}\nexpecting 1 input, got 0\n`]);
  }
  for (const way of [http(), grpc()]) {
    const { status, stderr } = await run(...way, '-u', '127.0.0.1:1', MUG);
    assert.equal(status, 1);
    assert.match(stderr, /^error: failed to get model metadata: .*connect/);
  }
});

test('more classes than there are', async () => {
  const { status, stdout, stderr } = await run(...http(), '-c', '2000', MUG);
  assert.deepEqual([status, stdout, stderr], [1, 'Request 0, batch size 1\n', 'received incorrect shape for fc6_1\n']);
});
