/** Traces as OpenTelemetry spans, sent to a collector in this process. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from '../../src/client/create-client.js';
import { makeTensor } from '../../src/protocol/tensor-values.js';
import { resolveOptions } from '../../src/server/options/resolve-options.js';
import { pythonWithNumpy } from '../support/programs/python.js';
import { identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { type ReceivedSpan, startOtlpReceiver } from '../support/servers/otlp-receiver.js';
import { startTestServer } from '../support/servers/test-server.js';
import { httpRequest } from '../support/wire/http-request.js';

const python = pythonWithNumpy();

const MODELS = {
  ...identityModel('plain', [['TYPE_INT32', '-1']], 'max_batch_size: 0'),
  'pair/config.pbtxt': `platform: "ensemble"
    input { name: "IN" data_type: TYPE_INT32 dims: -1 } output { name: "OUT" data_type: TYPE_INT32 dims: -1 }
    ensemble_scheduling { step { model_name: "plain" model_version: -1
      input_map { key: "INPUT0" value: "IN" } output_map { key: "OUTPUT0" value: "OUT" } } }`,
  'pair/1/.keep': '',
};

const CALLER = {
  'caller/config.pbtxt': `backend: "python" max_batch_size: 0
    input { name: "IN" data_type: TYPE_INT32 dims: 1 } output { name: "CONTEXT" data_type: TYPE_STRING dims: 1 }`,
  'caller/1/model.py': `
import numpy as np
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            trace = request.trace()
            tensor = pb_utils.Tensor("INPUT0", np.array([1], np.int32))
            for given in (trace, None):
                call = pb_utils.InferenceRequest(model_name="plain", inputs=[tensor], requested_output_names=["OUTPUT0"], trace=given)
                call.exec()
            context = np.array([str(trace.get_context())], object)
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("CONTEXT", context)]))
        return responses
`,
};

const PARENT = { trace: '0af7651916cd43dd8448eb211c80319c', span: 'b7ad6b7169203331' };
const headers = { traceparent: `00-${PARENT.trace}-${PARENT.span}-01`, tracestate: 'vendor=1' };

const body = (id: string, input: string) =>
  JSON.stringify({ id, inputs: [{ name: input, datatype: 'INT32', shape: [1], data: [1] }] });

async function start(models: Record<string, string>, args: readonly string[], more: readonly string[] = []) {
  const repository = makeRepository(models);
  const receiver = await startOtlpReceiver();
  const settings = ['mode=opentelemetry', `opentelemetry,url=${receiver.url}`, 'level=TIMESTAMPS', ...args];
  const server = await startTestServer(
    [repository.path],
    [...settings.map((setting) => `--trace-config=${setting}`), ...more],
  );
  return {
    server,
    receiver,
    async end() {
      await server.stop();
      repository.remove();
      receiver.close();
    },
  };
}

const attributesOf = (span: ReceivedSpan | undefined) =>
  Object.fromEntries((span?.attributes ?? []).map(({ key, value }) => [key, Object.values(value)[0]]));
const eventsOf = (span: ReceivedSpan | undefined) => span?.events.map(({ name }) => name);

test('a request is three spans inside each other, with its timestamps as events', async () => {
  const { server, receiver, end } = await start(MODELS, [
    'rate=1',
    'opentelemetry,resource=service.name=mine',
    'opentelemetry,resource=team=vision',
  ]);
  assert.equal((await httpRequest(server.http, 'POST', '/v2/models/plain/infer', body('a', 'INPUT0'))).status, 200);
  await end();
  const [batch, ...more] = receiver.batches;
  assert.equal(more.length, 0);
  assert.equal(batch?.path, '/v1/traces');
  assert.equal(batch?.headers['content-type'], 'application/json');
  assert.equal(batch?.scope, 'triton-server');
  assert.equal(batch?.resource['service.name'], 'mine');
  assert.equal(batch?.resource['team'], 'vision');
  const [compute, model, root] = receiver.spans();
  assert.deepEqual([compute?.name, model?.name, root?.name], ['compute', 'plain', 'InferRequest']);
  assert.equal(root?.parentSpanId, undefined);
  assert.equal(model?.parentSpanId, root?.spanId);
  assert.equal(compute?.parentSpanId, model?.spanId);
  assert.equal(new Set(receiver.spans().map(({ traceId }) => traceId)).size, 1);
  assert.match(root?.traceId ?? '', /^[0-9a-f]{32}$/);
  assert.deepEqual(eventsOf(compute), ['COMPUTE_START', 'COMPUTE_INPUT_END', 'COMPUTE_OUTPUT_START', 'COMPUTE_END']);
  assert.deepEqual(eventsOf(model), ['REQUEST_START', 'QUEUE_START', 'REQUEST_END']);
  assert.deepEqual(eventsOf(root), [
    'HTTP_RECV_START',
    'HTTP_RECV_END',
    'INFER_RESPONSE_COMPLETE',
    'HTTP_SEND_START',
    'HTTP_SEND_END',
  ]);
  assert.deepEqual(attributesOf(model), {
    'triton.model_name': 'plain',
    'triton.model_version': '1',
    'triton.trace_id': '1',
    'triton.trace_parent_id': '0',
    'triton.request_id': 'a',
  });
  for (const span of receiver.spans()) {
    assert.equal(span.kind, 2);
    assert.ok(BigInt(span.startTimeUnixNano) <= BigInt(span.endTimeUnixNano));
    assert.ok(Math.abs(Number(BigInt(span.startTimeUnixNano) / 1_000_000n) - Date.now()) < 120_000);
  }
});

test('a context that comes with a request is continued, and forces the trace', async () => {
  const { server, receiver, end } = await start(MODELS, ['rate=0']);
  const post = (more: Record<string, string>) =>
    httpRequest(server.http, 'POST', '/v2/models/pair/infer', { body: body('e', 'IN'), headers: more });
  assert.equal((await post({})).status, 200);
  assert.equal((await post({ traceparent: 'nonsense' })).status, 200);
  assert.equal((await post(headers)).status, 200);
  const client = await createClient({ protocol: 'grpc', url: `127.0.0.1:${server.grpc}` });
  await client.infer(
    { modelName: 'plain', inputs: [makeTensor('INPUT0', 'INT32', [1])] },
    { headers: { traceparent: headers.traceparent } },
  );
  await client.close();
  await end();
  const spans = receiver.spans();
  assert.deepEqual(
    spans.map(({ name }) => name),
    ['compute', 'plain', 'pair', 'InferRequest', 'compute', 'plain', 'InferRequest'],
  );
  const [, inner, outer, root, , , grpcRoot] = spans;
  assert.deepEqual(new Set(spans.map(({ traceId }) => traceId)), new Set([PARENT.trace]));
  assert.equal(root?.parentSpanId, PARENT.span);
  assert.equal(root?.traceState, 'vendor=1');
  assert.equal(outer?.parentSpanId, root?.spanId);
  assert.equal(inner?.parentSpanId, outer?.spanId);
  assert.equal(attributesOf(inner)['triton.trace_parent_id'], attributesOf(outer)['triton.trace_id']);
  assert.equal(grpcRoot?.parentSpanId, PARENT.span);
  assert.equal(eventsOf(grpcRoot)?.[0], 'GRPC_WAITREAD_START');
});

test('batches are sent when they are full, and in time', async () => {
  const { server, receiver, end } = await start(MODELS, [
    'rate=1',
    'opentelemetry,bsp_max_export_batch_size=3',
    'opentelemetry,bsp_schedule_delay=60000',
  ]);
  const send = () => httpRequest(server.http, 'POST', '/v2/models/plain/infer', body('', 'INPUT0'));
  await send();
  while (receiver.spans().length < 3) await new Promise((resolve) => setImmediate(resolve));
  await Promise.all([send(), send(), send()]);
  await end();
  assert.equal(receiver.spans().length, 12);
  assert.ok(receiver.batches.every(({ spans }) => spans.length <= 3));
});

test('a Python model passes its context on', { skip: python === undefined }, async () => {
  const { server, receiver, end } = await start(
    { ...MODELS, ...CALLER },
    ['rate=1'],
    [`--backend-config=python,python-executable=${python}`],
  );
  const answer = await httpRequest(server.http, 'POST', '/v2/models/caller/infer', { body: body('', 'IN'), headers });
  assert.equal(answer.status, 200, answer.text);
  await end();
  const spans = receiver.spans();
  assert.deepEqual(spans.map(({ name }) => name).sort(), ['InferRequest', 'caller', 'compute', 'compute', 'plain']);
  const caller = spans.find(({ name }) => name === 'caller');
  const called = spans.find(({ name }) => name === 'plain');
  assert.equal(called?.parentSpanId, caller?.spanId);
  assert.deepEqual(JSON.parse((answer.json as { outputs: [{ data: [string] }] }).outputs[0].data[0]), {
    traceparent: `00-${PARENT.trace}-${caller?.spanId}-01`,
    tracestate: 'vendor=1',
  });
});

test('a collector that is not there is reported and stops nothing; settings show the defaults', async () => {
  const repository = makeRepository(MODELS);
  const server = await startTestServer(
    [repository.path],
    ['mode=opentelemetry', 'opentelemetry,url=127.0.0.1:1/v1/traces', 'level=TIMESTAMPS', 'rate=1'].map(
      (setting) => `--trace-config=${setting}`,
    ),
  );
  assert.equal((await httpRequest(server.http, 'POST', '/v2/models/plain/infer', body('', 'INPUT0'))).status, 200);
  const settings = await httpRequest(server.http, 'GET', '/v2/trace/setting');
  assert.equal(
    settings.text,
    '{"trace_level":["TIMESTAMPS"],"trace_rate":"1","trace_count":"-1","trace_mode":"opentelemetry",' +
      '"url":"127.0.0.1:1/v1/traces","bsp_max_export_batch_size":"512","bsp_schedule_delay":"5000","bsp_max_queue_size":"2048"}',
  );
  await server.stop();
  repository.remove();
  assert.match(
    server.logText(),
    /E\d{4} .*3 spans could not be sent to http:\/\/127\.0\.0\.1:1\/v1\/traces: .*ECONNREFUSED/,
  );
});

test('bad settings are refused at the start', () => {
  const resolve = (...settings: string[]) => {
    const line = ['mode=opentelemetry', ...settings].map((setting) => `--trace-config=${setting}`);
    const resolved = resolveOptions(['--model-repository=/m', ...line], () => {});
    return resolved.kind === 'error' ? resolved.message : resolved.kind;
  };
  assert.equal(resolve(), 'serve');
  assert.equal(
    resolve('opentelemetry,url=http://'),
    "triton serve: --trace-config=opentelemetry,url=http://: not an address; give one like http://localhost:4318/v1/traces. Run 'triton serve --help' for details.",
  );
  assert.equal(
    resolve('opentelemetry,bsp_schedule_delay=x'),
    'Bad option: "--trace-config opentelemetry,bsp_schedule_delay".\nInvalid option value. Got x\n\nRun \'triton serve --help\' for details.',
  );
});
