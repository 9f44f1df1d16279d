import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { testModel } from '../../../../test/support/engine/test-model.js';
import { MAX_RANK, MAX_TENSORS } from '../../infer/request-limits.js';
import { decodeHttpInferRequest, parseInferenceHeaderLength } from './decode-request.js';

const model = testModel({});
const options = { maxInputSize: 1000 };

function decode(json: unknown, blobs = '', headerLength?: number) {
  const text = typeof json === 'string' ? json : JSON.stringify(json);
  return decodeHttpInferRequest(Buffer.from(text + blobs), headerLength, model, options);
}

/** A request with one INT32 input of shape [2], changed as given. */
const withInput = (input: object) => ({
  inputs: [{ name: 'I', datatype: 'INT32', shape: [2], data: [1, 2], ...input }],
});
const withOutput = (output: object) => ({ inputs: [], outputs: [output] });
const withParameter = (parameters: object) => ({ inputs: [], parameters });

const ONE_SOURCE =
  "Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', 'shared_memory_region' in 'parameters'. But ";
const NOT_UINT = 'attempt to access JSON non-unsigned-integer as unsigned-integer';
const NOT_INT = 'attempt to access JSON non-signed-integer as signed-integer';
const NOT_STRING = 'attempt to access JSON non-string as string';
const NOT_BOOL = 'attempt to access JSON non-boolean as boolean';

const REFUSED: readonly (readonly [request: unknown, code: string, text: string])[] = [
  ['{', 'INTERNAL', 'failed to parse the request JSON buffer: Missing a name for object member. at 1'],
  [
    '{"inputs":[]} x',
    'INTERNAL',
    'failed to parse the request JSON buffer: The document root must not be followed by other values. at 14',
  ],
  [[], 'INTERNAL', "Unable to parse 'inputs': attempt to access non-existing object member 'inputs'"],
  [{}, 'INTERNAL', "Unable to parse 'inputs': attempt to access non-existing object member 'inputs'"],
  [{ inputs: {} }, 'INTERNAL', "Unable to parse 'inputs': attempt to access JSON non-array as array"],
  [{ inputs: [], id: 1 }, 'INTERNAL', `Unable to parse 'id': ${NOT_STRING}`],
  [{ inputs: [], parameters: [] }, 'INTERNAL', 'failed to get request params.: attempt to get members for non-object'],
  [{ inputs: [1] }, 'INVALID_ARG', `${ONE_SOURCE}no field is set`],
  [{ inputs: [{ name: 'I' }] }, 'INVALID_ARG', `${ONE_SOURCE}no field is set`],
  [
    withInput({ parameters: { binary_data_size: 1, shared_memory_region: 'r' } }),
    'INVALID_ARG',
    `${ONE_SOURCE}set 'data' 'binary_data_size' 'shared_memory_region'`,
  ],
  [
    withInput({ name: undefined }),
    'INTERNAL',
    "Unable to parse 'name': attempt to access non-existing object member 'name'",
  ],
  [withInput({ name: 1 }), 'INTERNAL', `Unable to parse 'name': ${NOT_STRING}`],
  [withInput({ datatype: null }), 'INTERNAL', `Unable to parse 'datatype': ${NOT_STRING}`],
  [withInput({ shape: 2 }), 'INTERNAL', "Unable to parse 'shape': attempt to access JSON non-array as array"],
  [withInput({ shape: [-1] }), 'INTERNAL', `Unable to parse 'shape': ${NOT_UINT}`],
  [
    '{"inputs":[{"name":"I","datatype":"INT32","shape":[2.0],"data":[]}]}',
    'INTERNAL',
    `Unable to parse 'shape': ${NOT_UINT}`,
  ],
  [
    { ...withInput({}), inputs: [...withInput({}).inputs, ...withInput({}).inputs] },
    'INVALID_ARG',
    "[request id: <id_unknown>] input 'I' already exists in request",
  ],
  [
    { id: 'a', inputs: [...withInput({}).inputs, ...withInput({}).inputs] },
    'INVALID_ARG',
    "[request id: a] input 'I' already exists in request",
  ],
  [withInput({ data: {} }), 'INTERNAL', "Unable to parse 'data': attempt to access JSON non-array as array"],
  [withInput({ datatype: 'STRING' }), 'INVALID_ARG', 'invalid datatype for input I'],
  [
    withInput({ datatype: 'FP16' }),
    'INVALID_ARG',
    'receiving FP16 data via JSON is not supported. Please use the binary data format for input I',
  ],
  [
    withInput({ datatype: 'BF16' }),
    'INVALID_ARG',
    'receiving BF16 data via JSON is not supported. Please use the binary data format for input I',
  ],
  [
    withInput({ data: [1, 2, 3] }),
    'INTERNAL',
    "Unable to parse 'data': Shape does not match true shape of 'data' field",
  ],
  [withInput({ data: [1] }), 'INTERNAL', "Failed to parse 'data' field: shape does not match true shape"],
  [withInput({ shape: [100], data: [1, 'x'] }), 'INTERNAL', `Unable to parse 'data': ${NOT_INT}`],
  [withInput({ data: [1, 1.5] }), 'INTERNAL', `Unable to parse 'data': ${NOT_INT}`],
  [
    '{"inputs":[{"name":"I","datatype":"INT8","shape":[1],"data":[1.0]}]}',
    'INTERNAL',
    `Unable to parse 'data': ${NOT_INT}`,
  ],
  [
    '{"inputs":[{"name":"I","datatype":"INT8","shape":[1],"data":[1e2]}]}',
    'INTERNAL',
    `Unable to parse 'data': ${NOT_INT}`,
  ],
  [withInput({ data: [1, null] }), 'INTERNAL', `Unable to parse 'data': ${NOT_INT}`],
  [withInput({ data: [1, true] }), 'INTERNAL', `Unable to parse 'data': ${NOT_INT}`],
  [withInput({ datatype: 'UINT8', data: [1, -1] }), 'INTERNAL', `Unable to parse 'data': ${NOT_UINT}`],
  [
    '{"inputs":[{"name":"I","datatype":"UINT64","shape":[1],"data":[18446744073709551616]}]}',
    'INTERNAL',
    `Unable to parse 'data': ${NOT_UINT}`,
  ],
  [
    '{"inputs":[{"name":"I","datatype":"INT64","shape":[1],"data":[9223372036854775808]}]}',
    'INTERNAL',
    `Unable to parse 'data': ${NOT_INT}`,
  ],
  [withInput({ datatype: 'BOOL', data: [true, 1] }), 'INTERNAL', `Unable to parse 'data': ${NOT_BOOL}`],
  [
    withInput({ datatype: 'FP32', data: [1, '2'] }),
    'INTERNAL',
    "Unable to parse 'data': attempt to access JSON non-number as double",
  ],
  [withInput({ datatype: 'BYTES', data: ['a', 1] }), 'INTERNAL', `Unable to parse JSON bytes array: ${NOT_STRING}`],
  [
    withInput({ data: JSON.parse(`${'['.repeat(101)}1${']'.repeat(101)}`) }),
    'INTERNAL',
    "Unable to parse 'data': JSON nesting depth exceeds maximum allowed limit (100)",
  ],
  [
    withInput({ datatype: 'BYTES', data: JSON.parse(`${'['.repeat(101)}"a"${']'.repeat(101)}`) }),
    'INTERNAL',
    'JSON nesting depth exceeds maximum allowed limit (100)',
  ],
  [
    '{"inputs":[{"name":"I","datatype":"INT8","shape":[9223372036854775807,2],"data":[]}]}',
    'INVALID_ARG',
    "invalid shape for input 'I': shape [9223372036854775807,2] causes total element count to exceed maximum size of 9223372036854775807",
  ],
  [
    '{"inputs":[{"name":"I","datatype":"INT8","shape":[18446744073709551615],"data":[]}]}',
    'INVALID_ARG',
    "invalid shape for input 'I': shape [-1] contains one or more invalid dimensions",
  ],
  [
    '{"inputs":[{"name":"I","datatype":"INT32","shape":[9223372036854775807],"data":[]}]}',
    'INVALID_ARG',
    "byte size overflow for input 'I': element count (9223372036854775807) * data type size (4) exceeds maximum allowed size (9223372036854775807)",
  ],
  [
    withInput({ shape: [251] }),
    'INVALID_ARG',
    "JSON input 'I' has a byte_size (1004 bytes) that exceeds the maximum allowed value of 1000 bytes. Use --http-max-input-size to increase the limit.",
  ],
  [
    { inputs: [], x: 'y'.repeat(1000) },
    'INVALID_ARG',
    'request JSON size of 1020 bytes exceeds the maximum allowed input size of 1000 bytes. Use --http-max-input-size to increase the limit.',
  ],
  [
    withInput({ data: undefined, parameters: { binary_data_size: 8 } }),
    'INVALID_ARG',
    "unexpected size for input 'I', expecting 8 additional bytes for model 'm'",
  ],
  [
    withInput({ data: undefined, parameters: { binary_data_size: -8 } }),
    'INTERNAL',
    `Unable to parse 'binary_data_size': ${NOT_UINT}`,
  ],
  [
    withInput({ data: undefined, parameters: { shared_memory_region: 'r' } }),
    'NOT_FOUND',
    "Unable to find shared memory region: 'r'",
  ],
  [
    withInput({ data: undefined, parameters: { shared_memory_region: 1 } }),
    'INTERNAL',
    `Unable to parse 'shared_memory_region': ${NOT_STRING}`,
  ],
  [
    withInput({ data: undefined, parameters: { shared_memory_region: 'r', shared_memory_offset: 'x' } }),
    'INTERNAL',
    `Unable to parse 'shared_memory_offset': ${NOT_UINT}`,
  ],
  [{ inputs: [], outputs: {} }, 'INTERNAL', "Unable to parse 'outputs': attempt to access JSON non-array as array"],
  [withOutput({}), 'INTERNAL', "Unable to parse 'name': attempt to access non-existing object member 'name'"],
  [withOutput({ name: 'O', parameters: { binary_data: 1 } }), 'INTERNAL', `Unable to parse 'binary_data': ${NOT_BOOL}`],
  [
    withOutput({ name: 'O', parameters: { classification: -1 } }),
    'INTERNAL',
    `Unable to set 'classification': ${NOT_UINT}`,
  ],
  [
    withOutput({ name: 'O', parameters: { shared_memory_region: 'r', classification: 1 } }),
    'INVALID_ARG',
    "Output can't set both 'shared_memory_region' and 'classification'",
  ],
  [
    withOutput({ name: 'O', parameters: { shared_memory_region: 'r', binary_data: true } }),
    'INVALID_ARG',
    "Output can't set both 'shared_memory_region' and 'binary_data'",
  ],
  [
    withOutput({ name: 'O', parameters: { shared_memory_region: 'r', binary_data: 0 } }),
    'INTERNAL',
    `Unable to set 'binary_data': ${NOT_BOOL}`,
  ],
  [
    withOutput({ name: 'O', parameters: { shared_memory_region: 'r', binary_data: false } }),
    'NOT_FOUND',
    "Unable to find shared memory region: 'r'",
  ],
  [withParameter({ sequence_id: -1 }), 'INTERNAL', `Unable to parse 'sequence_id': ${NOT_STRING}`],
  [
    withParameter({ sequence_id: 'x'.repeat(129) }),
    'UNSUPPORTED',
    'string correlation ID cannot be longer than 128 characters',
  ],
  [withParameter({ sequence_start: 1 }), 'INTERNAL', `Unable to parse 'sequence_start': ${NOT_BOOL}`],
  [withParameter({ priority: -1 }), 'INTERNAL', `Unable to parse 'priority': ${NOT_UINT}`],
  [withParameter({ timeout: 'x' }), 'INTERNAL', `Unable to parse 'timeout': ${NOT_UINT}`],
  [
    withParameter({ triton_x: 1 }),
    'INVALID_ARG',
    "parameter keys starting with 'triton_' are reserved for Triton usage and should not be specified.",
  ],
  [
    withParameter({ k: null }),
    'INVALID_ARG',
    "parameter 'k' has invalid type. It should be either 'int', 'bool', or 'string'.",
  ],
];

describe('decodeHttpInferRequest', () => {
  for (const [request, code, text] of REFUSED) {
    const shown = typeof request === 'string' ? request : JSON.stringify(request);
    test(`refuses ${shown.slice(0, 100)}`, () => {
      assert.throws(() => decode(request), { code, message: text });
    });
  }

  test('keeps only the low bits of integers that are too large for their datatype', () => {
    const { request } = decode(withInput({ datatype: 'INT8', data: [300, -129] }));
    assert.deepEqual([...request.inputs[0]!.data], [44, 127]);
    const large = decode('{"inputs":[{"name":"I","datatype":"UINT16","shape":[1],"data":[18446744073709551615]}]}');
    assert.deepEqual([...large.request.inputs[0]!.data], [255, 255]);
  });

  test('flattens nested data without comparing the nesting with the shape', () => {
    const { request } = decode(withInput({ datatype: 'UINT8', shape: [2, 2], data: [[[1], 2], [], [3, [[4]]]] }));
    assert.deepEqual([...request.inputs[0]!.data], [1, 2, 3, 4]);
  });

  test('does not look at the data of a shape without elements', () => {
    for (const shape of [[], [0], [3, 0]]) {
      assert.equal(decode(withInput({ shape, data: ['x', 1] })).request.inputs[0]!.data.length, 0);
    }
  });

  test('takes NaN and infinities bare, and -0 as the integer 0', () => {
    const { request } = decode(
      '{"inputs":[{"name":"I","datatype":"FP64","shape":[7],"data":[NaN,Inf,-Inf,Infinity,-Infinity,-0,-0.0]}]}',
    );
    const values = new Float64Array(new Uint8Array(request.inputs[0]!.data).buffer);
    assert.deepEqual([...values], [Number.NaN, Infinity, -Infinity, Infinity, -Infinity, 0, -0]);
  });

  test('keeps bytes that are no UTF-8, and resolves escapes, in BYTES elements', () => {
    const json = Buffer.from(
      '{"inputs":[{"name":"I","datatype":"BYTES","shape":[2],"data":["#","\\u0000\\ud83d\\ude00\\n"]}]}',
    );
    json[json.indexOf('#')] = 0xff;
    const { request } = decodeHttpInferRequest(json, undefined, model, options);
    assert.deepEqual(
      Buffer.from(request.inputs[0]!.data),
      Buffer.from('\x01\0\0\0\xff\x06\0\0\0\0\xf0\x9f\x98\x80\n', 'latin1'),
    );
  });

  test('reads blobs in the order of the inputs and JSON data beside them', () => {
    const json = JSON.stringify({
      inputs: [
        { name: 'A', datatype: 'UINT8', shape: [2], parameters: { binary_data_size: 2 } },
        { name: 'B', datatype: 'UINT8', shape: [1], data: [7] },
        { name: 'C', datatype: 'UINT8', shape: [1], parameters: { binary_data_size: 1 } },
      ],
    });
    const { request } = decode(json, 'xyz', json.length);
    assert.deepEqual(
      request.inputs.map(({ data }) => Buffer.from(data).toString('latin1')),
      ['xy', '\x07', 'z'],
    );
    assert.throws(() => decode(json, 'xyzz', json.length), {
      code: 'INVALID_ARG',
      message: "unexpected additional input data for model 'm'",
    });
    assert.throws(() => decode(json, 'x', json.length), {
      code: 'INVALID_ARG',
      message: "unexpected size for input 'A', expecting 1 additional bytes for model 'm'",
    });
  });

  test('takes an effective header length of 0 as a raw request', () => {
    assert.deepEqual(decode('abc', '', 0).request.raw, Buffer.from('abc'));
    assert.equal(decode('').request.raw?.length, 0);
    assert.equal(decode('abc', '', 0).defaultForm.binary, true);
    assert.throws(() => decode('x'.repeat(1001), '', 0), {
      code: 'INVALID_ARG',
      message:
        'Raw input has a byte_size (1001 bytes) that exceeds the maximum allowed value of 1000 bytes. Use --http-max-input-size to increase the limit.',
    });
  });

  test('refuses header lengths outside the body', () => {
    for (const length of [-1, 14]) {
      assert.throws(() => decode('{"inputs":[]}', '', length), {
        code: 'INVALID_ARG',
        message: `inference header size should be in range (0, 13), got: ${length}`,
      });
    }
  });

  test('resolves the form of each output', () => {
    const { forms, defaultForm, request } = decode({
      inputs: [],
      parameters: { binary_data_output: true },
      outputs: [
        { name: 'A' },
        { name: 'B', parameters: { binary_data: true } },
        { name: 'C', parameters: { classification: 3 } },
        { name: 'D', parameters: 1 },
      ],
    });
    assert.deepEqual(request.requestedOutputs, ['A', 'B', 'C', 'D']);
    assert.equal(defaultForm.binary, true);
    assert.deepEqual(
      [...forms].map(([name, { binary, classification }]) => [name, binary, classification]),
      [
        ['A', false, 0],
        ['B', true, 0],
        ['C', false, 3],
        ['D', false, 0],
      ],
    );
  });

  test('takes an output that is listed twice once, in its first form', () => {
    const { forms, request } = decode({
      inputs: [],
      outputs: [{ name: 'A', parameters: { binary_data: true } }, { name: 'A' }],
    });
    assert.deepEqual(request.requestedOutputs, ['A']);
    assert.equal(forms.get('A')?.binary, true);
  });

  test('hands parameters on in their order; a repeated name has its first value', () => {
    const { request } = decode(
      '{"parameters":{"b":1,"a":2.5,"b":"x","headers":true,"big":9223372036854775808,"sequence_id":"s"},"inputs":[]}',
    );
    assert.deepEqual(request.parameters, [
      ['b', 1n],
      ['a', 2.5],
      ['b', 1n],
      ['headers', true],
      ['big', 2 ** 63],
    ]);
    assert.equal(request.correlationId, 's');
  });

  test('refuses sequence ids that are not integers of the uint64 range', () => {
    for (const id of ['1.5', '1e3', '18446744073709551616', '1e300', 'NaN']) {
      assert.throws(() => decode(`{"parameters":{"sequence_id":${id}},"inputs":[]}`), {
        code: 'INVALID_ARG',
        message: `Unable to parse 'sequence_id': expected a string or an integer from 0 to 18446744073709551615, got ${id}`,
      });
    }
    // Triton's messages.
    for (const id of ['-1', 'true', '[]']) {
      assert.throws(() => decode(`{"parameters":{"sequence_id":${id}},"inputs":[]}`), {
        code: 'INTERNAL',
        message: "Unable to parse 'sequence_id': attempt to access JSON non-string as string",
      });
    }
    assert.equal(
      decode('{"parameters":{"sequence_id":18446744073709551615},"inputs":[]}').request.correlationId,
      2n ** 64n - 1n,
    );
  });

  test('cuts the id at a NUL', () => {
    assert.equal(decode({ id: 'a\0b', inputs: [] }).request.id, 'a');
  });
});

describe('the time for a request', () => {
  test('grows no faster than its size', () => {
    const many = MAX_TENSORS;
    const list = (make: (i: number) => string) => Array.from({ length: many }, (_, i) => make(i)).join(',');
    const inputs = list((i) => `{"name":"${i}","datatype":"INT8","shape":[0],"data":[]}`);
    const outputs = list((i) => `{"name":"${i}"}`);
    const parameters = list((i) => `"${i}":1`);
    const body = Buffer.from(`{"inputs":[${inputs}],"outputs":[${outputs}],"parameters":{${parameters}}}`);
    const { request } = decodeHttpInferRequest(body, undefined, model, { maxInputSize: 1 << 26 });
    assert.deepEqual(
      [request.inputs.length, request.requestedOutputs.length, request.parameters.length],
      [many, many, many],
    );
  });

  test('is bounded by the number of inputs, outputs and dimensions', () => {
    const many = MAX_TENSORS + 1;
    const list = Array.from({ length: many }, (_, i) => ({ name: `${i}` }));
    const options = { maxInputSize: 1 << 26 };
    const decode = (value: unknown) => {
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      return decodeHttpInferRequest(Buffer.from(text), undefined, model, options);
    };
    assert.throws(() => decode({ inputs: list }), {
      code: 'INVALID_ARG',
      message: `the request has ${many} inputs, the server accepts at most ${MAX_TENSORS}`,
    });
    assert.throws(() => decode({ inputs: [], outputs: list }), { message: /^the request has 10001 outputs/ });
    // As many digits as fit: a product over all of them has ten million digits.
    const shape = `[${'9223372036854775807,'.repeat(500_000)}1]`;
    assert.throws(() => decode(`{"inputs":[{"name":"A","datatype":"INT8","shape":${shape},"data":[1]}]}`), {
      code: 'INVALID_ARG',
      message: `the shape of input 'A' has more than ${MAX_RANK} dimensions, which is the most that is accepted`,
    });
  });
});

describe('parseInferenceHeaderLength', () => {
  test('reads a leading number', () => {
    assert.deepEqual([undefined, '12', ' +5x', '-3'].map(parseInferenceHeaderLength), [undefined, 12, 5, -3]);
  });

  test('refuses everything else', () => {
    assert.throws(() => parseInferenceHeaderLength('x5'), {
      code: 'INVALID_ARG',
      message: 'Unable to parse Inference-Header-Content-Length, got: x5',
    });
    assert.throws(() => parseInferenceHeaderLength('2147483648'), {
      code: 'INVALID_ARG',
      message:
        'Unable to parse Inference-Header-Content-Length, value is out of range [ -2147483648, 2147483647 ], got: 2147483648',
    });
  });
});
