import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { testModel } from '../../../../test/support/engine/test-model.js';
import { makeTensor, tensorStrings, tensorValues } from '../../../protocol/tensor-values.js';
import { decodeGenerateRequest, encodeGenerateResponse } from './generate-request.js';

const model = testModel({
  maxBatchSize: 8,
  inputs: [
    { name: 'TEXT', datatype: 'BYTES', shape: [-1, 1] },
    { name: 'N', datatype: 'INT32', shape: [-1, -1] },
    { name: 'PAIR', datatype: 'FP32', shape: [2] },
    { name: 'HALF', datatype: 'FP16', shape: [1] },
  ],
});
const decode = (body: unknown) =>
  decodeGenerateRequest(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), model, {
    maxInputSize: 500,
  });

describe('decodeGenerateRequest', () => {
  test('maps members to inputs and parameters, nested ones too, in their order', () => {
    const request = decode(
      '{"id":"7","TEXT":"hi","x":1,"parameters":{"N":[3,4],"y":1.5,"triton_z":true},"sequence_id":2}',
    );
    assert.equal(request.id, '7');
    assert.deepEqual(
      request.inputs.map(({ name, shape }) => [name, shape]),
      [
        ['TEXT', [1, 1]],
        ['N', [1, 2]],
      ],
    );
    assert.deepEqual(tensorStrings(request.inputs[0]!), ['hi']);
    assert.deepEqual(tensorValues({ datatype: 'INT32', data: request.inputs[1]!.data }), [3, 4]);
    assert.deepEqual(request.parameters, [
      ['id', '7'],
      ['x', 1n],
      ['y', 1.5],
      ['triton_z', true],
      ['sequence_id', 2n],
    ]);
    assert.equal(request.correlationId, 0n);
  });

  test('gives an empty array an empty shape', () => {
    const [input] = decode({ N: [] }).inputs;
    assert.deepEqual([input!.shape, input!.data.length], [[], 0]);
  });

  const REFUSED: readonly (readonly [body: unknown, code: string, text: string])[] = [
    ['', 'INTERNAL', 'failed to parse the request JSON buffer: The document is empty. at 0'],
    [[], 'INTERNAL', 'attempt to get members for non-object'],
    [{ id: 1 }, 'INTERNAL', "Unable to parse 'id': attempt to access JSON non-string as string"],
    [
      { parameters: 1 },
      'INTERNAL',
      "Expected JSON object for keyword: 'parameters': attempt to access JSON non-object as object",
    ],
    [
      { parameters: { k: null } },
      'INVALID_ARG',
      "Converting keyword: 'parameters': parameter 'k' has invalid type. It should be either 'int', 'bool', or 'string'.",
    ],
    [{ k: {} }, 'INVALID_ARG', "parameter 'k' has invalid type. It should be either 'int', 'bool', or 'string'."],
    [{ PAIR: [1, 2, 3] }, 'INVALID_ARG', "The schema can not convert input 'PAIR' to tensor with proper shape"],
    [{ PAIR: [1, 2, 3, 4] }, 'INVALID_ARG', "The schema can not convert input 'PAIR' to tensor with proper shape"],
    [
      {
        N: [
          [1, 2],
          [3, 4],
        ],
      },
      'INTERNAL',
      "Unable to parse 'data': Shape does not match true shape of 'data' field",
    ],
    [{ N: 'x' }, 'INTERNAL', "Unable to parse 'data': attempt to access JSON non-signed-integer as signed-integer"],
    [{ TEXT: 5 }, 'INTERNAL', 'Unable to parse JSON bytes array: attempt to access JSON non-string as string'],
    [
      { HALF: 1 },
      'INVALID_ARG',
      'receiving FP16 data via JSON is not supported. Please use the binary data format for input HALF',
    ],
    ['{"id":"q","N":1,"N":2}', 'INVALID_ARG', "[request id: q] input 'N' already exists in request"],
    [
      { x: 'y'.repeat(500) },
      'INVALID_ARG',
      'request JSON size of 508 bytes exceeds the maximum allowed input size of 500 bytes. Use --http-max-input-size to increase the limit.',
    ],
    [
      { N: Array.from({ length: 120 }, () => 1), PAIR: Array.from({ length: 10 }, () => 1) },
      'INVALID_ARG',
      "request size of 480 bytes with input 'PAIR' of size 40 bytes exceeds the maximum allowed input size of 500. Use --http-max-input-size to increase the limit.",
    ],
  ];
  for (const [body, code, message] of REFUSED) {
    test(`refuses ${JSON.stringify(body).slice(0, 80)}`, () => {
      assert.throws(() => decode(body), { code, message });
    });
  }

  test('refuses the keyword where an input has its name', () => {
    const named = testModel({ inputs: [{ name: 'parameters', datatype: 'INT32', shape: [1] }] });
    assert.throws(() => decodeGenerateRequest(Buffer.from('{"parameters":{}}'), named, { maxInputSize: 500 }), {
      code: 'INVALID_ARG',
      message: "Keyword 'parameters' for nested schema also given as input tensor name",
    });
  });
});

describe('encodeGenerateResponse', () => {
  test('sorts keys by their bytes, unwraps single elements, and lets the first of a name win', () => {
    const body = encodeGenerateResponse({
      modelName: 'm',
      modelVersion: '1',
      id: 'i"',
      parameters: [
        ['p', 1n],
        ['model_name', 'other'],
        ['b', 0.5],
      ],
      outputs: [
        makeTensor('Z', 'INT32', [1]),
        makeTensor('a', 'FP32', [1, 2]),
        makeTensor('p', 'BOOL', [true]),
        makeTensor('e', 'INT8', []),
      ],
    });
    assert.equal(
      Buffer.from(body).toString(),
      '{"Z":1,"a":[1.0,2.0],"b":0.5,"e":[],"id":"i\\"","model_name":"m","model_version":"1","p":1}',
    );
  });

  test('writes bytes that are no UTF-8 as they are', () => {
    const outputs = [makeTensor('t', 'BYTES', [Uint8Array.of(0xff, 0x0a)])];
    const body = encodeGenerateResponse({ modelName: 'm', modelVersion: '1', id: '', parameters: [], outputs });
    assert.equal(Buffer.from(body).toString('latin1'), '{"model_name":"m","model_version":"1","t":"\xff\\n"}');
  });
});
