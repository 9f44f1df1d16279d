import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { testModel } from '../../../../test/support/engine/test-model.js';
import { encodeBytes } from '../../../protocol/bytes.js';
import { toBinary } from '../../../protocol/proto/codec.js';
import { decodeModelInferRequest, decodeModelStreamInferResponse } from '../../../protocol/proto/infer/infer-codec.js';
import { create, type MessageOf } from '../../../protocol/proto/schema.js';
import {
  InferInputTensor,
  InferParameter,
  InferRequestedOutputTensor,
  InferTensorContents,
  ModelInferRequest,
} from '../../../protocol/proto/service/infer-messages.js';
import { decodeGrpcInferRequest } from './decode-request.js';
import { encodeGrpcEmptyResponse, encodeGrpcStreamError } from './encode-response.js';
import { wantsEmptyFinalResponse } from './settings.js';

const model = testModel({});

type Parameter = Partial<MessageOf<typeof InferParameter>>;
type Parameters = Record<string, Parameter>;
type Contents = Partial<MessageOf<typeof InferTensorContents>>;

const map = (parameters: Parameters) =>
  new Map(Object.entries(parameters).map(([name, value]) => [name, { ...create(InferParameter), ...value }]));

interface Input {
  name?: string;
  datatype?: string;
  shape?: bigint[];
  parameters?: Parameters;
  contents?: Contents;
}

interface Request {
  id?: string;
  parameters?: Parameters;
  inputs?: Input[];
  outputs?: { name: string; parameters?: Parameters }[];
  raw?: Uint8Array[];
}

function decode(request: Request) {
  const bytes = toBinary(ModelInferRequest, {
    ...create(ModelInferRequest),
    id: request.id ?? '',
    parameters: map(request.parameters ?? {}),
    inputs: (request.inputs ?? []).map(({ parameters, contents, ...input }) => ({
      ...create(InferInputTensor),
      ...input,
      parameters: map(parameters ?? {}),
      contents: contents === undefined ? undefined : { ...create(InferTensorContents), ...contents },
    })),
    outputs: (request.outputs ?? []).map(({ name, parameters }) => ({
      ...create(InferRequestedOutputTensor),
      name,
      parameters: map(parameters ?? {}),
    })),
    raw_input_contents: request.raw ?? [],
  });
  return decodeGrpcInferRequest(decodeModelInferRequest(bytes), model);
}

const region = { string_param: 'r' };
const kind = (name: string, expected: string) => `invalid value type for '${name}' parameter, expected ${expected}.`;
const custom = 'expected int64_param, bool_param, or string_param.';
const explicit = "unexpected explicit tensor data for input tensor 'I' for model 'm'";

const REFUSED: readonly (readonly [request: Request, text: string, code?: string])[] = [
  [{ parameters: { sequence_id: { uint64_param: 1n } } }, kind('sequence_id', 'int64_param or string_param')],
  [
    { parameters: { sequence_id: { string_param: 'x'.repeat(129) } } },
    'string correlation ID cannot be longer than 128 characters',
    'UNSUPPORTED',
  ],
  [{ parameters: { sequence_start: { int64_param: 1n } } }, kind('sequence_start', 'bool_param')],
  [{ parameters: { sequence_end: { string_param: '' } } }, kind('sequence_end', 'bool_param')],
  [{ parameters: { priority: { string_param: '1' } } }, kind('priority', 'int64_param or uint64_param')],
  [{ parameters: { priority: { int64_param: -1n } } }, "invalid value for 'priority', expected value >= 0."],
  [{ parameters: { timeout: { uint64_param: 1n } } }, kind('timeout', 'int64_param')],
  [
    { parameters: { triton_enable_empty_final_response: { int64_param: 1n } } },
    kind('triton_enable_empty_final_response', 'bool_param'),
  ],
  [
    { parameters: { triton_x: { bool_param: true } } },
    "parameter keys starting with 'triton_' are reserved for Triton usage. Only the following keys starting with 'triton_' are allowed: triton_enable_empty_final_response",
  ],
  [{ parameters: { k: { uint64_param: 1n } } }, `invalid value type for 'k' parameter, ${custom}`],
  [{ parameters: { k: {} } }, `invalid value type for 'k' parameter, ${custom}`],
  [{ id: 'a', inputs: [{ name: 'I' }, { name: 'I' }] }, "[request id: a] input 'I' already exists in request"],
  [{ inputs: [{ name: 'I' }] }, "unable to find data for input tensor 'I' for model 'm' in request."],
  [
    { inputs: [{ name: 'I', contents: {} }], raw: [new Uint8Array(0)] },
    "contents field must not be specified when using raw_input_contents for 'I' for model 'm'",
  ],
  [
    {
      inputs: [
        {
          name: 'I',
          parameters: { shared_memory_region: region, shared_memory_byte_size: { int64_param: 4n } },
          contents: {},
        },
      ],
    },
    "unexpected 'content' provided when using shared memory for input tensor 'I' for model 'm'",
  ],
  [
    {
      inputs: [
        { name: 'I', parameters: { shared_memory_region: region, shared_memory_byte_size: { int64_param: 4n } } },
      ],
    },
    "Unable to find shared memory region: 'r'",
    'NOT_FOUND',
  ],
  [
    { inputs: [{ name: 'I', parameters: { shared_memory_region: { int64_param: 1n } } }] },
    "invalid value type for 'shared_memory_region' parameter for tensor 'I', expected string_param.",
  ],
  [
    {
      inputs: [{ name: 'I', parameters: { shared_memory_region: region, shared_memory_offset: { string_param: '' } } }],
    },
    "invalid value type for 'shared_memory_offset' parameter for tensor 'I', expected int64_param.",
  ],
  [
    {
      inputs: [
        { name: 'I', parameters: { shared_memory_region: region, shared_memory_byte_size: { bool_param: true } } },
      ],
    },
    "invalid value type for 'shared_memory_byte_size' parameter for tensor 'I', expected int64_param.",
  ],
  [
    { inputs: [{ name: 'I', parameters: { shared_memory_offset: { int64_param: 1n } } }] },
    "'shared_memory_offset' can not be specified without 'shared_memory_region' parameter for tensor 'I'",
  ],
  [
    { inputs: [{ name: 'I', parameters: { shared_memory_byte_size: { int64_param: 1n } } }] },
    "'shared_memory_byte_size' can not be specified without 'shared_memory_region' parameter for tensor 'I'",
  ],
  [
    { inputs: [{ name: 'I', parameters: { shared_memory_region: region } }] },
    "'shared_memory_byte_size' must be specified along with 'shared_memory_region' parameter for tensor 'I'",
  ],
  [
    { inputs: [{ name: 'I', datatype: 'FP32', contents: { int_contents: [1] } }] },
    `${explicit} of type 'INT32', expected datatype 'FP32'`,
  ],
  [
    { inputs: [{ name: 'I', datatype: 'INT64', contents: { uint_contents: [1] } }] },
    `${explicit} of type 'UINT32', expected datatype 'INT64'`,
  ],
  [
    { inputs: [{ name: 'I', datatype: 'FP16', contents: { fp32_contents: [1] } }] },
    `${explicit} of type 'FP32', expected datatype 'FP16'`,
  ],
  [
    { inputs: [{ name: 'I', datatype: 'nonsense', contents: { bool_contents: [true] } }] },
    `${explicit} of type 'BOOL', expected datatype '<invalid>'`,
  ],
  [
    { inputs: [{ name: 'I', datatype: 'INT32', contents: { int_contents: [1], fp32_contents: [1] } }] },
    `${explicit}, binary data was already supplied.`,
  ],
  [
    { outputs: [{ name: 'O', parameters: { classification: { uint64_param: 1n } } }] },
    "invalid value type for 'classification' parameter, expected int64_param",
  ],
  [
    { outputs: [{ name: 'O', parameters: { classification: { int64_param: 0n } } }] },
    "invalid value for 'classification' parameter, expected >= 0",
  ],
  [
    {
      outputs: [
        {
          name: 'O',
          parameters: {
            classification: { int64_param: 1n },
            shared_memory_region: region,
            shared_memory_byte_size: { int64_param: 4n },
          },
        },
      ],
    },
    "output can't set both 'shared_memory_region' and 'classification'",
  ],
  [
    {
      outputs: [
        { name: 'O', parameters: { shared_memory_region: region, shared_memory_byte_size: { int64_param: 4n } } },
      ],
    },
    "Unable to find shared memory region: 'r'",
    'NOT_FOUND',
  ],
];
const CONTENTS: readonly (readonly [datatype: string, contents: Contents, bytes: readonly number[]])[] = [
  ['BOOL', { bool_contents: [true, false, true] }, [1, 0, 1]],
  ['INT8', { int_contents: [-1, 300] }, [255, 44]],
  ['INT16', { int_contents: [-2, 70000] }, [254, 255, 112, 17]],
  ['INT32', { int_contents: [-2] }, [254, 255, 255, 255]],
  ['INT64', { int64_contents: [-2n] }, [254, 255, 255, 255, 255, 255, 255, 255]],
  ['UINT8', { uint_contents: [1, 258] }, [1, 2]],
  ['UINT16', { uint_contents: [65537] }, [1, 0]],
  ['UINT32', { uint_contents: [0xfffffffe] }, [254, 255, 255, 255]],
  ['UINT64', { uint64_contents: [2n ** 64n - 2n] }, [254, 255, 255, 255, 255, 255, 255, 255]],
  ['FP32', { fp32_contents: [1.5, -0] }, [0, 0, 192, 63, 0, 0, 0, 128]],
  ['FP64', { fp64_contents: [2] }, [0, 0, 0, 0, 0, 0, 0, 64]],
  ['BYTES', { bytes_contents: [Uint8Array.of(0, 255), new Uint8Array(0)] }, [2, 0, 0, 0, 0, 255, 0, 0, 0, 0]],
  ['FP32', {}, []],
];

describe('decodeGrpcInferRequest', () => {
  for (const [request, message, code = 'INVALID_ARG'] of REFUSED) {
    test(`refuses: ${message.slice(0, 110)}`, () => {
      assert.throws(() => decode(request), { code, message });
    });
  }

  for (const [datatype, contents, bytes] of CONTENTS) {
    test(`turns ${Object.keys(contents)[0] ?? 'empty contents'} into ${datatype}`, () => {
      const { request } = decode({ inputs: [{ name: 'I', datatype, contents }] });
      assert.deepEqual([...request.inputs[0]!.data], bytes);
    });
  }

  test('gives raw contents to the inputs that have no other data, and ignores what is left, but no flood', () => {
    const inputs = [{ name: 'A' }, { name: 'B' }];
    const raw = [Uint8Array.of(1), Uint8Array.of(2), Uint8Array.of(3)];
    const { request } = decode({ inputs, raw });
    assert.deepEqual(
      request.inputs.map(({ data }) => [...data]),
      [[1], [2]],
    );
    const empty = new Uint8Array(0);
    const tooMany = (what: string) => ({
      code: 'INVALID_ARG',
      message: `the request has more than 10000 ${what}, which is the most that the server accepts`,
    });
    const flood = <T>(one: T): T[] => new Array<T>(50_000).fill(one);
    assert.throws(() => decode({ inputs, raw: flood(empty) }), tooMany('raw_input_contents'));
    assert.throws(() => decode({ inputs: flood({ name: 'A' }) }), tooMany('inputs'));
  });

  test('reads the parameters of a request', () => {
    const { request } = decode({
      id: 'x',
      parameters: {
        sequence_id: { int64_param: -1n },
        sequence_start: { bool_param: true },
        sequence_end: { bool_param: false },
        priority: { uint64_param: 5n },
        timeout: { int64_param: 9n },
        headers: { string_param: 'h' },
        binary_data_output: { bool_param: true },
        double: { double_param: 0.5 },
        integer: { int64_param: -7n },
        triton_enable_empty_final_response: { bool_param: true },
      },
    });
    assert.deepEqual(
      { ...request, inputs: undefined, requestedOutputs: undefined },
      {
        id: 'x',
        inputs: undefined,
        requestedOutputs: undefined,
        correlationId: 2n ** 64n - 1n,
        sequenceStart: true,
        sequenceEnd: false,
        priority: 5n,
        timeoutMicroseconds: 9n,
        parameters: [
          ['headers', 'h'],
          ['binary_data_output', true],
          ['double', 0.5],
          ['integer', -7n],
        ],
      },
    );
  });

  test('ignores unknown parameters of inputs and outputs', () => {
    const { request, forms } = decode({
      inputs: [{ name: 'A', datatype: 'BYTES', shape: [1n], parameters: { x: { bool_param: true } } }],
      outputs: [{ name: 'O', parameters: { binary_data: { bool_param: false } } }],
      raw: [encodeBytes(['a'])],
    });
    assert.equal(request.inputs.length, 1);
    assert.deepEqual(forms.get('O'), { binary: true, classification: 0 });
  });

  test('keeps negative dimensions for the validation', () => {
    const { request } = decode({ inputs: [{ name: 'A', shape: [-1n, 2n, -5n] }], raw: [new Uint8Array(0)] });
    assert.deepEqual(request.inputs[0]!.shape, [-1, 2, -5]);
  });
});

describe('messages of a stream beside results', () => {
  test('an error before execution carries only the id', () => {
    const { errorMessage, inferResponse } = decodeModelStreamInferResponse(
      Buffer.concat(encodeGrpcStreamError('no', { id: '7' })),
    );
    assert.equal(errorMessage, 'no');
    assert.deepEqual([inferResponse?.id, inferResponse?.modelName, inferResponse?.parameters.size], ['7', '', 0]);
  });

  test('an error of the model carries name, version and the final flag', () => {
    const bytes = Buffer.concat(encodeGrpcStreamError('no', { id: '', modelName: 'm', modelVersion: '', final: true }));
    const { inferResponse } = decodeModelStreamInferResponse(bytes);
    assert.equal(inferResponse?.modelName, 'm');
    assert.deepEqual(inferResponse?.parameters.get('triton_final_response'), { kind: 'bool', value: true });
  });

  test('the empty final response has no outputs', () => {
    const response = Buffer.concat(
      encodeGrpcEmptyResponse({ id: 'i', modelName: 'm', modelVersion: '2', final: true }),
    );
    assert.ok(response.includes('triton_final_response'));
    assert.equal(wantsEmptyFinalResponse(decodeModelInferRequest(new Uint8Array(0))), false);
  });
});
