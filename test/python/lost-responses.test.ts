/** Requests of a Python model never wait for a response that cannot come: frames that nobody can read, connections that are closed. */
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, describe, test } from 'node:test';
import { until } from '../support/machine/processes.js';
import { pythonWithNumpy } from '../support/programs/python.js';
import { makeRepository, pythonModels } from '../support/repositories/make-repository.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';
import { httpRequest } from '../support/wire/http-request.js';

const python = pythonWithNumpy();
const LIMIT = 1 << 20;
const CONFIG = `backend: "python" max_batch_size: 0
  input { name: "N" data_type: TYPE_INT32 dims: [ 1 ] } output { name: "OUT" data_type: TYPE_INT32 dims: [ -1 ] }`;

const model = (body: string): string => `import os, socket, time
import numpy as np
import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def execute(self, requests):
        return [self.reply(int(request.inputs()[0].as_numpy()[0])) for request in requests]
    def tensor(self, value):
        return pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([value], np.int32))])
    def reply(self, number):
${body.replace(/^/gm, '        ')}
`;

const MODELS: Readonly<Record<string, string>> = {
  // A shape that is not one makes a frame that the server cannot read.
  misshapen: `response = self.tensor(number)
if number < 0:
    response.output_tensors()[0]._shape = (-1, -1)
return response`,
  failing: `raise ValueError("x" * number)`,
  calling: `request = pb_utils.InferenceRequest(
    model_name="failing", inputs=[pb_utils.Tensor("N", np.array([number], np.int32))], requested_output_names=["OUT"])
return self.tensor(len(request.exec().error().message()))`,
  recursive: `if number <= 5:
    return self.tensor(number)
request = pb_utils.InferenceRequest(
    model_name="recursive", inputs=[pb_utils.Tensor("N", np.array([number - 1], np.int32))], requested_output_names=["OUT"])
return self.tensor(request.exec().output_tensors()[0].as_numpy()[0])`,
  unplugged: `if number < 0:
    mine, other = socket.socketpair()
    os.dup2(mine.fileno(), 3)
    self.kept = mine, other
return self.tensor(number)`,
};

interface Reply {
  readonly error?: string;
  readonly outputs?: readonly { readonly data: readonly number[] }[];
}

describe('responses of Python models that cannot come', { skip: python === undefined }, () => {
  const sources = Object.entries(MODELS).map(([name, body]) => [name, model(body)] as const);
  const repository = makeRepository(pythonModels(CONFIG, Object.fromEntries(sources)));
  let server: TestServer;

  before(async () => {
    const settings = [`python-executable=${python}`, `max-frame-bytes=${LIMIT}`];
    server = await startTestServer(
      [repository.path],
      [
        '--model-control-mode=explicit',
        '--load-model=*',
        ...settings.map((setting) => `--backend-config=python,${setting}`),
      ],
    );
  });

  after(async () => {
    await server?.stop();
    repository.remove();
  });

  async function infer(name: string, number: number): Promise<Reply> {
    const body = { inputs: [{ name: 'N', datatype: 'INT32', shape: [1], data: [number] }] };
    return (await httpRequest(server.http, 'POST', `/v2/models/${name}/infer`, JSON.stringify(body))).json as Reply;
  }

  /** The model serves on, and can be unloaded. */
  async function servesOn(name: string): Promise<void> {
    await until(`${name} must serve again`, async () => (await infer(name, 5)).outputs?.[0]?.data[0] === 5);
    assert.equal((await httpRequest(server.http, 'POST', `/v2/repository/models/${name}/unload`)).status, 200);
    await until(`${name} must be gone`, () => server.engine.readyVersions(name).length === 0);
  }

  test('a frame that cannot be read in its middle fails its batch, and the next is served', async () => {
    const replies = await Promise.all([infer('misshapen', -1), infer('misshapen', -1)]);
    for (const { error } of replies) assert.match(error ?? '', /not healthy/);
    await servesOn('misshapen');
  });

  test('an error that is too long for a frame reaches the model that called, cut', async () => {
    // Where the frame of the model that fails has room for the error, and the one to the caller, with the server's words, not.
    const lengths: number[] = [];
    for (let number = LIMIT - 800; number < LIMIT; number += 20) {
      lengths.push((await infer('calling', number)).outputs?.[0]?.data[0] ?? -1);
    }
    assert.ok(lengths[0]! > LIMIT - 800, String(lengths));
    assert.ok(lengths.includes(4096), String(lengths));
    assert.ok(
      lengths.every((length) => length > 0),
      String(lengths),
    );
  });

  test('a model that waits for itself serves on when its client has gone', async () => {
    const body = JSON.stringify({ inputs: [{ name: 'N', datatype: 'INT32', shape: [1], data: [9] }] });
    const request = http.request({ port: server.http, method: 'POST', path: '/v2/models/recursive/infer' });
    request.on('error', () => {});
    request.end(body);
    await until('the model must have called itself', async () => {
      const { text } = await httpRequest(server.metrics, 'GET', '/metrics');
      return /nv_inference_pending_request_count\{model="recursive",version="1"\} 1/.test(text);
    });
    request.destroy();
    await servesOn('recursive');
  });

  test('a process that has closed its connection and runs on is ended', async () => {
    assert.match((await infer('unplugged', -1)).error ?? '', /not healthy.*connection is closed/);
    await servesOn('unplugged');
  });
});
