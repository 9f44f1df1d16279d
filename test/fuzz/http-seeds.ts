/** Requests over HTTP/1.1 that are right, one per endpoint and form of body. */
function post(path: string, body: string | Buffer, ...headers: string[]): Buffer {
  const data = Buffer.from(body);
  const head = [`POST ${path} HTTP/1.1`, 'Host: a', `Content-Length: ${data.length}`, ...headers, '', ''].join('\r\n');
  return Buffer.concat([Buffer.from(head), data]);
}

const get = (path: string): Buffer => Buffer.from(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);

function infer(datatype: string, data: unknown): string {
  return JSON.stringify({
    id: 'r',
    inputs: [{ name: 'INPUT0', datatype, shape: [1, 4], data }],
    outputs: [{ name: 'OUTPUT0', parameters: { binary_data: true } }],
  });
}

const raw = Buffer.alloc(16, 7);
const binary = JSON.stringify({
  inputs: [{ name: 'INPUT0', datatype: 'INT32', shape: [1, 4], parameters: { binary_data_size: 16 } }],
});
const chunked = infer('INT32', [1, 2, 3, 4]);

export const HTTP_SEEDS: readonly Buffer[] = [
  ...['', '/health/live', '/health/ready', '/models/numbers', '/models/text/versions/1/config', '/models/stats'].map(
    (p) => get(`/v2${p}`),
  ),
  get('/v2/logging'),
  get('/openapi.json'),
  post('/v2/models/numbers/infer', infer('INT32', [1, 2, 3, 4])),
  post('/v2/models/numbers/infer', infer('INT32', [[1, 2, 3, 4]])),
  post('/v2/models/floats/infer', infer('FP32', [1.5, -2e10, 0.1, 4])),
  post('/v2/models/text/infer', infer('BYTES', ['a', '\u00e9\ud83d\ude00', '', 'x\\u0000y'])),
  post(
    '/v2/models/numbers/infer',
    Buffer.concat([Buffer.from(binary), raw]),
    `Inference-Header-Content-Length: ${binary.length}`,
  ),
  post('/v2/models/numbers/generate', '{"INPUT0":[1,2,3,4],"extra":true}'),
  post('/v2/repository/index', '{"ready":true}'),
  post('/v2/trace/setting', '{"trace_rate":"7","trace_level":["OFF"]}'),
  post('/v2/systemsharedmemory/region/a/register', '{"key":"/nosuch","offset":0,"byte_size":64}'),
  Buffer.from(
    `POST /v2/models/numbers/infer HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${chunked.length.toString(16)}\r\n${chunked}\r\n0\r\n\r\n`,
  ),
];
