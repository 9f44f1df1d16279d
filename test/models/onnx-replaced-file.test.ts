/** A loaded ONNX model stays what was loaded when its file is replaced in place, wherever and whenever it is opened again. */
import assert from 'node:assert/strict';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer } from '../support/servers/test-server.js';
import { httpRequest } from '../support/wire/http-request.js';

const SIMPLE = new URL('../../../fixtures/models/simple', import.meta.url).pathname;
/** More than the quick runs that open the main thread to a model. */
const RUNS = 200;

test('a file that is replaced under a loaded model changes nothing until the next load', async () => {
  const repository = makeRepository({});
  cpSync(SIMPLE, repository.file('simple'), { recursive: true });
  const file = repository.file('simple/1/model.onnx');
  const server = await startTestServer([repository.path], ['--model-control-mode=explicit', '--load-model=simple']);
  const input = (name: string, value: number) => ({
    name,
    datatype: 'INT32',
    shape: [1, 16],
    data: new Array(16).fill(value),
  });
  const body = JSON.stringify({ inputs: [input('INPUT0', 5), input('INPUT1', 3)] });
  const infer = async (): Promise<string> => {
    const { json } = await httpRequest(server.http, 'POST', '/v2/models/simple/infer', body);
    const { error, outputs } = json as { error?: string; outputs?: readonly { name: string; data: number[] }[] };
    return error ?? outputs!.map(({ name, data }) => `${name}=${data[0]}`).join(' ');
  };
  try {
    const before = await infer();
    assert.equal(before, 'OUTPUT0=8 OUTPUT1=2');
    // The names of the two operators have the same length: the file stays a model, which computes something else.
    const bytes = readFileSync(file, 'latin1');
    const names: Readonly<Record<string, string>> = { Add: 'Sub', Sub: 'Add' };
    writeFileSync(
      file,
      bytes.replace(/Add|Sub/g, (name) => names[name]!),
      'latin1',
    );
    // One after the other, and several at once, so that further threads and the main thread open the model.
    const seen = new Set<string>();
    for (let i = 0; i < RUNS; i++) seen.add(await infer());
    for (const reply of await Promise.all(Array.from({ length: RUNS }, infer))) seen.add(reply);
    assert.deepEqual([...seen], [before]);
    assert.equal((await httpRequest(server.http, 'POST', '/v2/repository/models/simple/load')).status, 200);
    assert.equal(await infer(), 'OUTPUT0=2 OUTPUT1=8');
  } finally {
    await server.stop();
    repository.remove();
  }
});
