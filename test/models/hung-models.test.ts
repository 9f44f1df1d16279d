/** Models that hang while they are loaded, executed or finalised, and the ways to get rid of them. */
import assert from 'node:assert/strict';
import { readdirSync, utimesSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { toBinary } from '../../src/protocol/proto/codec.js';
import { create } from '../../src/protocol/proto/schema.js';
import * as service from '../../src/protocol/proto/service/service.js';
import { isAlive, until, untilGone } from '../support/machine/processes.js';
import { pythonWithNumpy } from '../support/programs/python.js';
import { httpPort, serveProgram } from '../support/programs/serve-program.js';
import { identityModel, makeRepository, pythonModels } from '../support/repositories/make-repository.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';
import { TestGrpcClient } from '../support/wire/grpc-client.js';
import { httpRequest } from '../support/wire/http-request.js';

const python = pythonWithNumpy();
const PYTHON = `--backend-config=python,python-executable=${python}`;
const EXPLICIT = ['--model-control-mode=explicit', PYTHON];
const CONFIG = `backend: "python" max_batch_size: 0
  input { name: "MODE" data_type: TYPE_STRING dims: [ 1 ] } output { name: "OUT" data_type: TYPE_INT64 dims: [ -1 ] }`;

const HEAD = (notes: Notes): string => `import os, time
import numpy as np
import triton_python_backend_utils as pb_utils
${notes.python}`;

import { makeNotes, type Notes } from '../support/machine/notes.js';
import { temporaryDirectory } from '../support/machine/temporary-directory.js';

const EXECUTE = `
    def execute(self, requests):
        return [self.answer(pb_utils.get_input_tensor_by_name(r, "MODE").as_numpy()[0].decode()) for r in requests]
    def answer(self, mode):
        if mode == "hang":
            note("hanging")
            while True:
                pass
        if mode == "self":
            note("waiting")
            request = pb_utils.InferenceRequest(model_name="selfish", requested_output_names=["OUT"],
                inputs=[pb_utils.Tensor("MODE", np.array(["pid".encode()], dtype=np.object_))])
            response = request.exec()
            note("answered")
        return pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([os.getpid()]))])
`;

/** A request whose client can go away. */
function openRequest(
  port: number,
  name: string,
  mode: string,
): { leave(): void; answered: Promise<number | undefined> } {
  const body = JSON.stringify({ inputs: [{ name: 'MODE', datatype: 'BYTES', shape: [1], data: [mode] }] });
  const request = http.request({
    port,
    host: '127.0.0.1',
    method: 'POST',
    path: `/v2/models/${name}/infer`,
    agent: false,
  });
  const answered = new Promise<number | undefined>((resolve) => {
    request.on('response', (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.on('error', () => resolve(undefined));
  });
  request.end(body);
  return { leave: () => void request.destroy(), answered };
}

/** A gRPC call that can be cancelled, as it is when its client ends. */
function openCall(port: number, name: string, mode: string): { leave(): void; answered: Promise<unknown> } {
  const grpc = new TestGrpcClient(port);
  const text = Buffer.from(mode);
  const size = Buffer.alloc(4);
  size.writeUInt32LE(text.length);
  const request = toBinary(service.ModelInferRequest, {
    ...create(service.ModelInferRequest),
    model_name: name,
    inputs: [{ ...create(service.InferInputTensor), name: 'MODE', datatype: 'BYTES', shape: [1n] }],
    raw_input_contents: [Buffer.concat([size, text])],
  });
  let leave = (): void => {};
  const answered = new Promise((resolve) => {
    const identity = (bytes: Uint8Array): Buffer => Buffer.from(bytes);
    const method = '/inference.GRPCInferenceService/ModelInfer';
    const call = grpc.client.makeUnaryRequest(method, identity, identity, request, (error) => {
      grpc.close();
      resolve(error);
    });
    leave = () => call.cancel();
  });
  return { leave: () => leave(), answered };
}

describe('models that hang', { skip: python === undefined }, () => {
  const notes = makeNotes();
  const { noted } = notes;
  const models: Readonly<Record<string, string>> = {
    good: EXECUTE,
    selfish: EXECUTE,
    ...Object.fromEntries(
      ['starting', 'starting2', 'starting3', 'starting4', 'starting5', 'repaired'].map((name) => [
        name,
        `    def initialize(self, args):\n        note("${name}")\n        while True:\n            pass\n${EXECUTE}`,
      ]),
    ),
    completing: `    @staticmethod
    def auto_complete_config(config):
        note("completing")
        time.sleep(600)\n${EXECUTE}`,
    finalizing: `    def finalize(self):\n        note("finalizing")\n        while True:\n            pass\n${EXECUTE}`,
  };
  const sources = Object.entries(models).map(
    ([name, body]) => [name, `${HEAD(notes)}class TritonPythonModel:\n${body}`] as const,
  );
  const repository = makeRepository({
    ...pythonModels(CONFIG, Object.fromEntries(sources)),
    ...identityModel('plain', [['TYPE_INT32', '[ 1 ]']], 'max_batch_size: 0'),
  });
  let server: TestServer;

  before(async () => {
    server = await startTestServer([repository.path], [...EXPLICIT, '--model-unload-timeout=1']);
  });

  after(async () => {
    await server?.stop();
    repository.remove();
    notes.remove();
  });

  const manage = (name: string, what: 'load' | 'unload') =>
    httpRequest(server.http, 'POST', `/v2/repository/models/${name}/${what}`);
  const started = (name: string) => until(`${name} must start`, () => noted(name).length > 0);

  test('unload ends a process that is still being initialised', async () => {
    const loading = manage('starting', 'load');
    await started('starting');
    assert.equal((await manage('starting', 'unload')).status, 200);
    const { status, text } = await loading;
    assert.equal(status, 400);
    assert.match(text, /the load was cancelled: the model was unloaded/);
    await untilGone(noted('starting'));
    const index = (await httpRequest(server.http, 'POST', '/v2/repository/index')).json as { name: string }[];
    assert.deepEqual(
      index.find(({ name }) => name === 'starting'),
      { name: 'starting', version: '1', state: 'UNAVAILABLE', reason: 'unloaded' },
    );
    assert.equal((await httpRequest(server.http, 'GET', '/v2/health/ready')).status, 200);
  });

  test('hanging loads of all threads are cancelled, and others follow', async () => {
    const names = ['starting2', 'starting3', 'starting4', 'starting5'];
    const loads = names.map((name) => manage(name, 'load'));
    await Promise.all(names.map(started));
    const waiting = manage('plain', 'load');
    const given = manage('repaired', 'load');
    // A load that waits for a thread can be cancelled too.
    assert.equal((await manage('repaired', 'unload')).status, 200);
    assert.equal((await given).status, 400);
    assert.deepEqual(noted('repaired'), []);
    assert.equal((await manage('starting2', 'unload')).status, 200);
    assert.equal((await waiting).status, 200);
    for (const name of names) assert.equal((await manage(name, 'unload')).status, 200);
    for (const load of loads) assert.equal((await load).status, 400);
    await untilGone(names.flatMap(noted));
  });

  test('a load of the repaired file takes the place of the one that hangs', async () => {
    const first = manage('repaired', 'load');
    await started('repaired');
    const file = path.join(repository.path, 'repaired/1/model.py');
    writeFileSync(file, `${HEAD(notes)}class TritonPythonModel:\n${EXECUTE}`);
    utimesSync(file, new Date(), new Date(Date.now() + 1000));
    const second = await manage('repaired', 'load');
    assert.equal(second.status, 200, second.text);
    const { status, text } = await first;
    assert.equal(status, 400);
    assert.match(text, /the load was cancelled: its files or its configuration have been replaced/);
    await untilGone(noted('repaired'));
  });

  test('unload ends a model whose execute or finalize hangs, and its requests fail', async () => {
    for (const name of ['good', 'finalizing']) assert.equal((await manage(name, 'load')).status, 200);
    const hung = openRequest(server.http, 'good', 'hang');
    await started('hanging');
    assert.equal((await manage('good', 'unload')).status, 200);
    assert.equal((await manage('finalizing', 'unload')).status, 200);
    assert.equal(await hung.answered, 500);
    await untilGone(noted('hanging'));
    await started('finalizing');
    await untilGone(noted('finalizing'));
  });

  test('a model that waits for itself is freed when its client leaves', async () => {
    assert.equal((await manage('selfish', 'load')).status, 200);
    const call = openCall(server.grpc, 'selfish', 'self');
    await started('waiting');
    assert.deepEqual(noted('answered'), []);
    call.leave();
    await started('answered');
    assert.equal(await openRequest(server.http, 'selfish', 'pid').answered, 200);
  });

  test('completion of a configuration has a time limit', async () => {
    const other = await startTestServer([repository.path], [...EXPLICIT, '--model-completion-timeout=2']);
    try {
      const { status, text } = await httpRequest(other.http, 'POST', '/v2/repository/models/completing/load');
      assert.equal(status, 400);
      assert.match(text, /the configuration of model 'completing' was not completed within 2 s/);
      await untilGone(noted('completing'));
    } finally {
      await other.stop();
    }
  });

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`${signal} ends a server that still loads a model which hangs`, async () => {
      notes.forget('starting');
      const program = serveProgram(repository.path, [...EXPLICIT, '--load-model=starting', '--load-model=good']);
      await started('starting');
      program.kill(signal);
      const end = await program.ended();
      assert.equal(end.signal, signal, end.output);
      // The exit timeout is 30 s.
      assert.ok(end.tookMs < 20_000, `${end.tookMs} ms`);
      await untilGone(noted('starting'));
    });
  }

  test('a second Ctrl-C ends the server at once, with one line', async () => {
    notes.forget('hanging');
    const program = serveProgram(repository.path, [...EXPLICIT, '--load-model=good', '--exit-timeout-secs=600']);
    const port = await httpPort(program);
    const hung = openRequest(port, 'good', 'hang');
    await started('hanging');
    program.kill('SIGINT');
    await program.printed(/Signal \(2\) received\.\n/);
    await new Promise((resolve) => setTimeout(resolve, 700));
    program.kill('SIGINT');
    const end = await program.ended();
    assert.equal(end.signal, 'SIGINT', end.output);
    assert.match(end.output, /Signal \(2\) received again: exiting immediately\.\n/);
    await hung.answered;
    await untilGone(noted('hanging'));
  });

  test('a stop does not wait for a model whose clients are gone', async () => {
    notes.forget('hanging');
    const program = serveProgram(repository.path, [...EXPLICIT, '--load-model=good', '--exit-timeout-secs=60']);
    const port = Number((await program.printed(/Started GRPCInferenceService at 127\.0\.0\.1:(\d+)/))[1]);
    await httpPort(program);
    const hung = openCall(port, 'good', 'hang');
    await started('hanging');
    hung.leave();
    await hung.answered;
    program.kill('SIGTERM');
    const end = await program.ended();
    assert.equal(end.status, 0, end.output);
    assert.ok(end.tookMs < 30_000, `${end.tookMs} ms`);
    assert.ok(!noted('hanging').some(isAlive));
  });

  test('when the exit timeout is over, other models are finalised and no directories stay', async () => {
    for (const name of ['hanging', 'finalized']) notes.forget(name);
    const temporary = temporaryDirectory();
    const program = serveProgram(repository.path, [...EXPLICIT, '--load-model=good', '--exit-timeout-secs=6'], {
      env: { TMPDIR: temporary.path },
    });
    const port = await httpPort(program);
    const source = `${HEAD(notes)}class TritonPythonModel:\n${EXECUTE}    def finalize(self):\n        note("finalized")\n`;
    const parameters = {
      config: JSON.stringify({ backend: 'python' }),
      'file:1/model.py': Buffer.from(source).toString('base64'),
    };
    const loaded = await httpRequest(
      port,
      'POST',
      '/v2/repository/models/brought/load',
      JSON.stringify({ parameters }),
    );
    assert.equal(loaded.status, 200, loaded.text);
    assert.equal(readdirSync(temporary.path).filter((name) => name.startsWith('folder')).length, 1);
    const hung = openRequest(port, 'good', 'hang');
    await started('hanging');
    program.kill('SIGTERM');
    const end = await program.ended();
    assert.equal(end.status, 1, end.output);
    assert.match(end.output, /failed to stop server: Internal - Exit timeout expired\. Exiting immediately\./);
    assert.equal(noted('finalized').length, 1, end.output);
    await hung.answered;
    assert.deepEqual(
      readdirSync(temporary.path).filter((name) => name.startsWith('folder')),
      [],
    );
    temporary.remove();
    assert.ok(!noted('hanging').some(isAlive));
  });
});
