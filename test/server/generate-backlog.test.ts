/** A model that answers faster than its responses can be encoded: what waits is bounded, whoever reads. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pythonWithNumpy } from '../support/programs/python.js';
import { makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer } from '../support/servers/test-server.js';
import { httpRequest } from '../support/wire/http-request.js';

const CONFIG = `backend: "python"
model_transaction_policy { decoupled: true }
input { name: "COUNT" data_type: TYPE_INT32 dims: 1 }
output { name: "OUT" data_type: TYPE_FP32 dims: -1 }
`;
const MODEL = `
import numpy as np
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            count = int(pb_utils.get_input_tensor_by_name(request, "COUNT").as_numpy()[0])
            sender = request.get_response_sender()
            values = np.zeros(500_000, dtype=np.float32)
            for _ in range(count):
                sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", values)]))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
`;
const LIMIT = 30_000_000;

test('generate_stream ends with an error event; few responses pass whole', async (t) => {
  const python = pythonWithNumpy();
  if (python === undefined) return t.skip('no Python with numpy');
  const repository = makeRepository({ 'many/config.pbtxt': CONFIG, 'many/1/model.py': MODEL });
  const server = await startTestServer(
    [repository.path],
    [`--stream-max-backlog=${LIMIT}`, `--backend-config=python,python-executable=${python}`],
  );
  try {
    const ask = (count: number) =>
      httpRequest(server.http, 'POST', '/v2/models/many/generate_stream', JSON.stringify({ COUNT: count }));
    const few = await ask(3);
    assert.equal(few.text.match(/data: /g)?.length, 3);
    assert.doesNotMatch(few.text.slice(-500), /"error"/);
    const many = await ask(200);
    assert.match(
      many.text.slice(-500),
      /data: \{"error":"the model answers faster than its responses can be encoded as JSON: \d+ bytes of them wait, more than the 30000000 of --stream-max-backlog"\}\n\n$/,
    );
    assert.ok((many.text.match(/data: /g)?.length ?? 0) < 200);
    assert.equal((await httpRequest(server.http, 'GET', '/v2/health/ready')).status, 200);
  } finally {
    await server.stop();
    repository.remove();
  }
});
