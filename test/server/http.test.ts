import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { gunzipSync, gzipSync, inflateSync } from 'node:zlib';
import { identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';
import { httpRequest, rawExchange } from '../support/wire/http-request.js';

const repository = makeRepository({
  ...identityModel('numbers', [
    ['TYPE_INT32', '4'],
    ['TYPE_FP32', '-1'],
  ]),
  ...identityModel('text', [['TYPE_STRING', '-1']]),
  ...identityModel('half', [['TYPE_FP16', '2']], 'max_batch_size: 0'),
  'scores/config.pbtxt': [
    'name: "scores"',
    'backend: "identity"',
    'max_batch_size: 4',
    'input { name: "INPUT0" data_type: TYPE_FP32 dims: 3 }',
    'output { name: "OUTPUT0" data_type: TYPE_FP32 dims: 3 label_filename: "labels.txt" }',
    '',
  ].join('\n'),
  'scores/labels.txt': 'cat\ndog\n',
  'scores/1/.keep': '',
});
let server: TestServer;

before(async () => {
  server = await startTestServer([repository.path]);
});

after(async () => {
  await server.stop();
  repository.remove();
});

const get = (path: string) => httpRequest(server.http, 'GET', path);
const post = (path: string, body?: string | Uint8Array, headers?: Record<string, string>) =>
  httpRequest(server.http, 'POST', path, { body, headers });

const REQUEST = {
  id: '42',
  inputs: [
    { name: 'INPUT0', datatype: 'INT32', shape: [1, 4], data: [1, 2, 3, 4] },
    { name: 'INPUT1', datatype: 'FP32', shape: [1, 2], data: [[0.5, -1]] },
  ],
};

test('health of the server and of models', async () => {
  for (const path of [
    '/v2/health/live',
    '/v2/health/ready',
    '/v2/models/text/ready',
    '/v2/models/text/versions/1/ready?x=1',
  ]) {
    const answer = await get(path);
    assert.deepEqual([answer.status, answer.text, answer.headers['content-length']], [200, '', '0'], path);
  }
  for (const path of ['/v2/models/nosuch/ready', '/v2/models/text/versions/2/ready']) {
    const answer = await get(path);
    assert.deepEqual([answer.status, answer.text], [400, '{"error":"Model version not ready"}'], path);
  }
});

test('metadata of the server and of models', async () => {
  const about = (await get('/v2')).json as { name: string; extensions: string[] };
  assert.equal(about.name, 'triton');
  assert.equal(about.extensions.includes('binary_tensor_data'), true);
  assert.deepEqual((await get('/v2/models/numbers')).json, {
    name: 'numbers',
    versions: ['1'],
    platform: 'identity',
    inputs: [
      { name: 'INPUT0', datatype: 'INT32', shape: [-1, 4] },
      { name: 'INPUT1', datatype: 'FP32', shape: [-1, -1] },
    ],
    outputs: [
      { name: 'OUTPUT0', datatype: 'INT32', shape: [-1, 4] },
      { name: 'OUTPUT1', datatype: 'FP32', shape: [-1, -1] },
    ],
  });
});

test('the completed configuration', async () => {
  const answer = await get('/v2/models/numbers/config');
  const config = answer.json as {
    name: string;
    max_batch_size: number;
    version_policy: unknown;
    input: { dims: unknown }[];
  };
  assert.equal(answer.headers['content-type'], 'application/json');
  assert.deepEqual([config.name, config.max_batch_size, config.input[0]?.dims], ['numbers', 8, [4]]);
  assert.deepEqual(config.version_policy, { latest: { num_versions: 1 } });
});

test('inference, JSON both ways', async () => {
  const answer = await post('/v2/models/numbers/infer', JSON.stringify(REQUEST));
  assert.equal(answer.headers['content-type'], 'application/json');
  assert.equal(answer.headers['inference-header-content-length'], undefined);
  assert.equal(
    answer.text,
    '{"id":"42","model_name":"numbers","model_version":"1","outputs":[' +
      '{"name":"OUTPUT0","datatype":"INT32","shape":[1,4],"data":[1,2,3,4]},' +
      '{"name":"OUTPUT1","datatype":"FP32","shape":[1,2],"data":[0.5,-1.0]}]}',
  );
});

test('inference, binary both ways, mixed with JSON', async () => {
  const blob = Buffer.alloc(16);
  blob.writeInt32LE(-7, 12);
  const json = Buffer.from(
    JSON.stringify({
      inputs: [
        { name: 'INPUT0', datatype: 'INT32', shape: [1, 4], parameters: { binary_data_size: 16 } },
        REQUEST.inputs[1],
      ],
      outputs: [{ name: 'OUTPUT1' }, { name: 'OUTPUT0', parameters: { binary_data: true } }],
    }),
  );
  const answer = await post('/v2/models/numbers/versions/1/infer', Buffer.concat([json, blob]), {
    'Inference-Header-Content-Length': String(json.length),
  });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.headers['content-type'], 'application/octet-stream');
  const length = Number(answer.headers['inference-header-content-length']);
  assert.deepEqual(answer.body.subarray(length), blob);
  const { outputs } = JSON.parse(answer.body.subarray(0, length).toString()) as {
    outputs: { name: string; parameters?: unknown }[];
  };
  assert.deepEqual(outputs.find(({ name }) => name === 'OUTPUT0')?.parameters, { binary_data_size: 16 });
});

test('strings of any bytes pass through unchanged', async () => {
  const blob = Buffer.from([3, 0, 0, 0, 0, 255, 65, 0, 0, 0, 0]);
  const json = Buffer.from(
    JSON.stringify({
      parameters: { binary_data_output: true },
      inputs: [{ name: 'INPUT0', datatype: 'BYTES', shape: [1, 2], parameters: { binary_data_size: blob.length } }],
    }),
  );
  const answer = await post('/v2/models/text/infer', Buffer.concat([json, blob]), {
    'inference-header-content-length': String(json.length),
  });
  assert.deepEqual(answer.body.subarray(Number(answer.headers['inference-header-content-length'])), blob);
});

test('classification gives values, indices and labels', async () => {
  const answer = await post(
    '/v2/models/scores/infer',
    JSON.stringify({
      inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [1, 3], data: [0.25, 3, 1] }],
      outputs: [{ name: 'OUTPUT0', parameters: { classification: 2 } }],
    }),
  );
  const { outputs } = answer.json as { outputs: { data: string[]; shape: number[] }[] };
  assert.deepEqual(
    [outputs[0]?.shape, outputs[0]?.data],
    [
      [1, 2],
      ['3.000000:1:dog', '1.000000:2'],
    ],
  );
});

test('a raw body is the data of the only input', async () => {
  const body = Buffer.from([1, 2, 3, 4]);
  const answer = await post('/v2/models/half/infer', body, { 'Inference-Header-Content-Length': '0' });
  assert.deepEqual(answer.body.subarray(Number(answer.headers['inference-header-content-length'])), body);
});

test('compressed requests and responses', async () => {
  const plain = JSON.stringify(REQUEST);
  const gzipped = await post('/v2/models/numbers/infer', gzipSync(plain), {
    'Content-Encoding': 'gzip',
    'Accept-Encoding': 'gzip;q=0.5, deflate;q=0.4',
  });
  assert.equal(gzipped.headers['content-encoding'], 'gzip');
  assert.match(gunzipSync(gzipped.body).toString(), /"model_name":"numbers"/);
  const deflated = await post('/v2/models/numbers/infer', plain, { 'Accept-Encoding': 'deflate' });
  assert.match(inflateSync(deflated.body).toString(), /"model_name":"numbers"/);
  const refused = await post('/v2/models/numbers/infer', plain, { 'Content-Encoding': 'br' });
  assert.deepEqual(
    [refused.status, refused.text, refused.headers['accept-encoding']],
    [501, '{"error":"Unsupported compression type"}', 'gzip, deflate'],
  );
});

test('statistics move with requests', async () => {
  const read = async () =>
    (
      (await get('/v2/models/half/stats')).json as {
        model_stats: { inference_count: number; inference_stats: { success: { count: number } } }[];
      }
    ).model_stats[0];
  const earlier = await read();
  await post('/v2/models/half/infer', Buffer.alloc(4), { 'Inference-Header-Content-Length': '0' });
  const later = await read();
  assert.equal((later?.inference_count ?? 0) - (earlier?.inference_count ?? 0), 1);
  assert.equal((later?.inference_stats.success.count ?? 0) - (earlier?.inference_stats.success.count ?? 0), 1);
  const all = (await get('/v2/models/stats')).json as { model_stats: { name: string }[] };
  assert.deepEqual(
    all.model_stats.map(({ name }) => name),
    ['half', 'numbers', 'scores', 'text'],
  );
  assert.deepEqual(
    (await get('/v2/models/nosuch/stats')).text,
    `{"error":"requested model 'nosuch' is not available"}`,
  );
});

test('the repository index', async () => {
  const answer = await post('/v2/repository/index');
  assert.deepEqual(
    answer.json,
    ['half', 'numbers', 'scores', 'text'].map((name) => ({ name, version: '1', state: 'READY' })),
  );
  const wrong = await post('/v2/repository/index', '{"ready":1}');
  assert.deepEqual([wrong.status, wrong.text], [400, `{"error":"Invalid value for 'ready': expected a boolean"}`]);
});

test('load and unload are refused unless the mode is explicit', async () => {
  for (const action of ['load', 'unload']) {
    const answer = await post(`/v2/repository/models/text/${action}`);
    assert.deepEqual(
      [answer.status, answer.text],
      [503, '{"error":"explicit model load / unload is not allowed if polling is enabled"}'],
    );
  }
});

test('log settings can be read and set', async () => {
  const before_ = (await get('/v2/logging')).text;
  assert.equal(
    before_,
    '{"log_file":"","log_info":true,"log_warning":true,"log_error":true,"log_verbose_level":0,"log_format":"default"}',
  );
  const set = await post('/v2/logging', '{"log_verbose_level":1,"log_format":"ISO8601","log_info":null}');
  assert.match(set.text, /"log_verbose_level":1,"log_format":"ISO8601"/);
  await get('/v2/health/live');
  assert.match(server.logText(), /Z I \d+ [\w.-]+:\d+\] "HTTP request: 0 \/v2\/health\/live"/);
  assert.equal((await post('/v2/logging', '{"log_verbose_level":0,"log_format":"default"}')).text, before_);
  const cases: [body: string, status: number, text: string][] = [
    ['{"log_file":"x"}', 501, 'log file location can not be updated through network protocol'],
    ['{"log_info":1}', 500, 'attempt to access JSON non-boolean as boolean'],
    ['{"log_verbose_level":-1}', 500, 'attempt to access JSON non-unsigned-integer as unsigned-integer'],
    ['{"log_format":"x"}', 503, 'invalid argument for --log_format, got: x'],
    ['', 500, 'failed to parse the request JSON buffer: The document is empty. at 0'],
  ];
  for (const [body, status, error] of cases) {
    const answer = await post('/v2/logging', body);
    assert.deepEqual([answer.status, answer.json], [status, { error }], body);
  }
});

test('trace settings can be read and set', async () => {
  assert.equal(
    (await get('/v2/trace/setting')).text,
    '{"trace_level":["OFF"],"trace_rate":"1000","trace_count":"-1","log_frequency":"0","trace_file":"","trace_mode":"triton"}',
  );
  assert.match((await post('/v2/models/text/trace/setting', '{"trace_rate":"7x"}')).text, /"trace_rate":"7"/);
  assert.match((await get('/v2/trace/setting')).text, /"trace_rate":"1000"/);
  assert.match((await post('/v2/models/text/trace/setting', '{"trace_rate":null}')).text, /"trace_rate":"1000"/);
  const cases: [body: string, status: number, text: string][] = [
    ['{"trace_file":"x"}', 501, 'trace file location can not be updated through network protocol'],
    ['{"trace_level":["OFF","TENSORS"]}', 400, "Expect only one trace level 'OFF' is specified"],
    ['{"trace_level":["TENSORS"]}', 400, 'Attempting to set invalid trace setting :trace file name is not given'],
    ['{"trace_count":"-2"}', 400, "Unable to parse 'trace_count'. Expecting value >= -1, got:-2"],
    ['{"trace_rate":3}', 500, 'attempt to access JSON non-string as string'],
  ];
  for (const [body, status, error] of cases) {
    const answer = await post('/v2/trace/setting', body);
    assert.deepEqual([answer.status, answer.json], [status, { error }], body);
  }
});

test('shared memory is off: status is empty, registering says how to switch it on', async () => {
  assert.equal((await get('/v2/systemsharedmemory/status')).text, '[]');
  const answer = await post('/v2/systemsharedmemory/region/r/register', '{"key":"/k","byte_size":4}');
  assert.deepEqual(
    [answer.status, answer.json],
    [501, { error: "Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable." }],
  );
});

test('unknown paths and wrong methods', async () => {
  for (const path of ['/', '/v2/', '/v2/models', '/v2/models/text/versions/x/infer']) {
    assert.deepEqual([(await get(path)).status, (await get(path)).text], [404, '{"error":"Not Found"}'], path);
  }
  for (const [method, path] of [
    ['GET', '/v2/models/text/infer'],
    ['POST', '/v2'],
    ['DELETE', '/v2/health/live'],
    ['OPTIONS', '/v2/models/text'],
  ] as const) {
    const answer = await httpRequest(server.http, method, path);
    assert.deepEqual([answer.status, answer.text], [405, '{"error":"Method Not Allowed"}'], `${method} ${path}`);
  }
});

test('pipelined requests all get their responses, in order', async () => {
  const infer = JSON.stringify(REQUEST);
  const one = `POST /v2/models/numbers/infer HTTP/1.1\r\nHost: x\r\nContent-Length: ${infer.length}\r\n\r\n${infer}`;
  const text = await rawExchange(
    server.http,
    `${one}GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n${one}GET /v2/models/nosuch HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
  );
  assert.deepEqual(text.match(/HTTP\/1\.1 \d+ [\w ]+/g), [
    'HTTP/1.1 200 OK',
    'HTTP/1.1 200 OK',
    'HTTP/1.1 200 OK',
    'HTTP/1.1 404 Not Found',
  ]);
});

test('metrics', async () => {
  await post('/v2/models/half/infer', Buffer.alloc(4), { 'Inference-Header-Content-Length': '0' });
  const answer = await httpRequest(server.metrics, 'GET', '/metrics');
  assert.equal(answer.headers['content-type'], 'text/plain; charset=utf-8');
  assert.match(answer.text, /# TYPE nv_inference_request_success counter\n/);
  assert.match(answer.text, /nv_inference_count\{model="half",version="1"\} [1-9]/);
  assert.match(answer.text, /nv_inference_request_failure\{model="text",reason="BACKEND",version="1"\} 0/);
  assert.match(answer.text, /\nnv_cpu_memory_total_bytes \d+\n/);
  assert.equal(answer.text.endsWith('\n'), true);
  const other = await httpRequest(server.metrics, 'GET', '/elsewhere');
  assert.deepEqual([other.status, other.text], [200, '']);
  assert.equal((await httpRequest(server.metrics, 'POST', '/metrics')).status, 405);
});
