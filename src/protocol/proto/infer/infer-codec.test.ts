import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { fromBinary, toBinary } from '../codec.js';
import { create, type MessageOf } from '../schema.js';
import {
  type InferParameter,
  InferTensorContents,
  ModelInferRequest,
  ModelInferResponse,
  ModelStreamInferResponse,
} from '../service/infer-messages.js';
import {
  decodeModelInferRequest,
  decodeModelInferResponse,
  decodeModelStreamInferResponse,
  encodeModelInferRequest,
  encodeModelInferResponse,
  encodeModelStreamInferResponse,
  type InferRequestMessage,
  type InferResponseMessage,
  type InferTensorMessage,
  type ParameterMap,
  type ParameterMessage,
} from './infer-codec.js';

const text = fc.string({ unit: 'grapheme', maxLength: 40 });
const parameter: fc.Arbitrary<ParameterMessage> = fc.oneof(
  fc.boolean().map((value) => ({ kind: 'bool' as const, value })),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((value) => ({ kind: 'int64' as const, value })),
  text.map((value) => ({ kind: 'string' as const, value })),
  fc.double().map((value) => ({ kind: 'double' as const, value })),
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((value) => ({ kind: 'uint64' as const, value })),
  fc.constant({ kind: 'none' as const, value: undefined }),
);
const parameters: fc.Arbitrary<ParameterMap> = fc
  .array(fc.tuple(text, parameter), { maxLength: 3 })
  .map((list) => new Map(list));
const contents = fc
  .array(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), { maxLength: 3 })
  .map((int64_contents) => toBinary(InferTensorContents, { ...create(InferTensorContents), int64_contents }));
const tensor: fc.Arbitrary<InferTensorMessage> = fc.record({
  name: text,
  datatype: text,
  shape: fc.array(fc.oneof(fc.maxSafeInteger(), fc.integer({ min: -2, max: 300 }))),
  parameters,
  contents: fc.option(contents, { nil: undefined }),
});
const raw = fc.array(
  fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc.nat(9000).map((size) => new Uint8Array(size)),
  ),
  { maxLength: 3 },
);
const request: fc.Arbitrary<InferRequestMessage> = fc.record({
  modelName: text,
  modelVersion: text,
  id: text,
  parameters,
  inputs: fc.array(tensor, { maxLength: 3 }),
  outputs: fc.array(fc.record({ name: text, parameters }), { maxLength: 3 }),
  rawInputContents: raw,
});
const response: fc.Arbitrary<InferResponseMessage> = fc.record({
  modelName: text,
  modelVersion: text,
  id: text,
  parameters,
  outputs: fc.array(tensor, { maxLength: 3 }),
  rawOutputContents: raw,
});

type Parameter = MessageOf<typeof InferParameter>;

/** The tuned form of what the generic codec reads, so that the two can be compared. */
const tunedParameters = (map: ReadonlyMap<string, Parameter>): ParameterMap =>
  new Map<string, ParameterMessage>(
    [...map].map(
      ([name, { bool_param, int64_param, string_param, double_param, uint64_param }]): [string, ParameterMessage] => {
        if (bool_param !== undefined) return [name, { kind: 'bool', value: bool_param }];
        if (int64_param !== undefined) return [name, { kind: 'int64', value: int64_param }];
        if (string_param !== undefined) return [name, { kind: 'string', value: string_param }];
        if (double_param !== undefined) return [name, { kind: 'double', value: double_param }];
        if (uint64_param !== undefined) return [name, { kind: 'uint64', value: uint64_param }];
        return [name, { kind: 'none', value: undefined }];
      },
    ),
  );
const tunedTensor = (message: MessageOf<typeof ModelInferRequest>['inputs'][number]): InferTensorMessage => ({
  name: message.name,
  datatype: message.datatype,
  shape: message.shape.map(Number),
  parameters: tunedParameters(message.parameters),
  contents: message.contents === undefined ? undefined : toBinary(InferTensorContents, message.contents),
});

/** Buffers and other views compare as one. */
function normal(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (Array.isArray(value)) return value.map(normal);
  if (value instanceof Map) return [...value].map(normal);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, normal(member)]));
}

describe('the tuned codec of the inference messages', () => {
  test('agrees with the generic one on requests, both ways', () => {
    fc.assert(
      fc.property(request, (message) => {
        const bytes = Buffer.concat(encodeModelInferRequest(message));
        assert.deepEqual(normal(decodeModelInferRequest(bytes)), normal(message));
        const generic = fromBinary(ModelInferRequest, bytes);
        assert.deepEqual(
          normal({
            modelName: generic.model_name,
            modelVersion: generic.model_version,
            id: generic.id,
            parameters: tunedParameters(generic.parameters),
            inputs: generic.inputs.map(tunedTensor),
            outputs: generic.outputs.map(({ name, parameters: map }) => ({ name, parameters: tunedParameters(map) })),
            rawInputContents: generic.raw_input_contents,
          }),
          normal(message),
        );
        assert.deepEqual(normal(decodeModelInferRequest(toBinary(ModelInferRequest, generic))), normal(message));
      }),
    );
  });

  test('agrees with the generic one on responses, both ways', () => {
    fc.assert(
      fc.property(response, (message) => {
        const bytes = Buffer.concat(encodeModelInferResponse(message));
        assert.deepEqual(normal(decodeModelInferResponse(bytes)), normal(message));
        const generic = fromBinary(ModelInferResponse, bytes);
        assert.deepEqual(generic.outputs.map(tunedTensor).map(normal), message.outputs.map(normal));
        assert.deepEqual(normal(decodeModelInferResponse(toBinary(ModelInferResponse, generic))), normal(message));
      }),
    );
  });

  test('puts a response into a message of a stream', () => {
    fc.assert(
      fc.property(text, response, (errorMessage, inferResponse) => {
        const bytes = Buffer.concat(
          encodeModelStreamInferResponse(errorMessage, encodeModelInferResponse(inferResponse)),
        );
        assert.deepEqual(normal(decodeModelStreamInferResponse(bytes)), normal({ errorMessage, inferResponse }));
        assert.equal(fromBinary(ModelStreamInferResponse, bytes).error_message, errorMessage);
      }),
    );
    assert.deepEqual(decodeModelStreamInferResponse(new Uint8Array(0)), { errorMessage: '', inferResponse: undefined });
  });

  test('reads shapes that are not packed, and passes over unknown fields', () => {
    const bytes = Buffer.from('2a0d 0a0141 1801 18ffffffffffffffffff01 3801'.replaceAll(' ', ''), 'hex');
    // 13 bytes of tensor would be cut: the length is made right here, the rest is an unknown field.
    bytes[1] = bytes.length - 4;
    const { inputs } = decodeModelInferRequest(bytes);
    assert.deepEqual(
      inputs.map(({ name, shape }) => [name, shape]),
      [['A', [1, -1]]],
    );
  });

  test('reads any bytes or refuses them', () => {
    fc.assert(
      fc.property(request, fc.nat(), fc.nat(255), (message, at, byte) => {
        const bytes = Buffer.concat(encodeModelInferRequest(message));
        if (bytes.length > 0) bytes[at % bytes.length] = byte;
        let refused = false;
        try {
          decodeModelInferRequest(bytes);
        } catch (error) {
          refused = true;
          assert.equal((error as Error).message, 'Unable to parse request');
        }
        let genericRefused = false;
        try {
          fromBinary(ModelInferRequest, bytes);
        } catch {
          genericRefused = true;
        }
        // The tuned codec leaves typed contents for later, so it may let pass what is wrong only there.
        if (refused) assert.ok(genericRefused);
      }),
      { numRuns: 500 },
    );
  });
});
