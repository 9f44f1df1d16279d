import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { testModel } from '../../../test/support/engine/test-model.js';
import { arbitraryTensor } from '../../../test/support/values/arbitrary-tensor.js';
import type { InferenceRequest, InferenceResponse } from '../../contract/request.js';
import { DATATYPES } from '../../protocol/datatype.js';
import { NO_SETTINGS } from '../../protocol/infer/parameters.js';
import { decodeModelInferRequest } from '../../protocol/proto/infer/infer-codec.js';
import type { Parameters, ParameterValue, Tensor } from '../../protocol/tensor.js';
import { decodeGrpcInferRequest } from '../../server/grpc/infer/decode-request.js';
import { encodeGrpcInferResponse, encodeGrpcStreamResponse } from '../../server/grpc/infer/encode-response.js';
import { decodeHttpInferRequest } from '../../server/http/infer/decode-request.js';
import { encodeHttpInferResponse } from '../../server/http/infer/encode-response.js';
import { BINARY_FORM, type DecodedInferRequest, JSON_FORM, NO_FORMS } from '../../server/infer/output-form.js';
import type { InferCall } from '../api/client.js';
import { decodeGrpcInferResponse, decodeGrpcStreamResponse, encodeGrpcInferRequest } from './grpc-codec.js';
import { decodeHttpInferResponse, encodeHttpInferRequest } from './http-codec.js';

const model = testModel({});
const options = { maxInputSize: 1 << 26 };
const JSON_TYPES = DATATYPES.filter((datatype) => datatype !== 'FP16' && datatype !== 'BF16');

const parameterValue: fc.Arbitrary<ParameterValue> = fc.oneof(
  fc.boolean(),
  fc.string({ unit: 'grapheme' }),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.double().map((value) => (Number.isNaN(value) ? 0.5 : value)),
);
const parameters: fc.Arbitrary<Parameters> = fc.uniqueArray(
  fc.tuple(
    fc.string({ unit: 'grapheme' }).filter((name) => name !== '__proto__' && !/^\d/.test(name)),
    parameterValue,
  ),
  { selector: ([name]) => name, maxLength: 4 },
);

function callOf(tensors: readonly Tensor[], custom: Parameters, id: string): InferCall {
  return {
    modelName: 'm',
    id,
    inputs: tensors,
    parameters: Object.fromEntries(custom),
    sequenceId: 2n ** 63n - 1n,
    sequenceStart: true,
    priority: 3n,
    timeoutMicroseconds: 7n,
  };
}

/** The same elements: NaN may come back with other bits, and zero elements carry no bytes. */
function assertTensor(
  actual: { name: string; datatype: string; shape: readonly number[]; data: Uint8Array },
  expected: Tensor,
) {
  assert.deepEqual(
    { name: actual.name, datatype: actual.datatype, shape: [...actual.shape] },
    { name: expected.name, datatype: expected.datatype, shape: [...expected.shape] },
  );
  if (actual.datatype === 'FP32' || actual.datatype === 'FP64') {
    const view = (data: Uint8Array) => {
      const copy = new Uint8Array(data).buffer;
      return actual.datatype === 'FP32' ? [...new Float32Array(copy)] : [...new Float64Array(copy)];
    };
    assert.deepEqual(view(actual.data), view(expected.data));
  } else assert.deepEqual(Buffer.from(actual.data), Buffer.from(expected.data));
}

function assertRequest(request: InferenceRequest, tensors: readonly Tensor[], custom: Parameters, id: string) {
  assert.equal(request.id, id);
  assert.equal(request.inputs.length, tensors.length);
  for (const [i, input] of request.inputs.entries()) assertTensor(input, tensors[i]!);
  assert.deepEqual(request.parameters, custom);
  assert.equal(request.correlationId, 2n ** 63n - 1n);
  assert.deepEqual([request.sequenceStart, request.sequenceEnd], [true, false]);
  assert.deepEqual([request.priority, request.timeoutMicroseconds], [3n, 7n]);
}

const uniqueTensors = (tensor: fc.Arbitrary<Tensor>) =>
  fc.uniqueArray(tensor, { selector: ({ name }) => name, maxLength: 3 });
const id = fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\0'));

describe('a request comes back from the wire as it was sent', () => {
  test('over HTTP with binary data', () => {
    fc.assert(
      fc.property(uniqueTensors(arbitraryTensor()), parameters, id, (tensors, custom, text) => {
        const { chunks, byteLength, headerLength } = encodeHttpInferRequest(callOf(tensors, custom, text));
        const body = Buffer.concat(chunks);
        assert.equal(body.length, byteLength);
        const { request, defaultForm } = decodeHttpInferRequest(body, headerLength, model, options);
        assertRequest(request, tensors, custom, text);
        assert.equal(defaultForm, BINARY_FORM);
      }),
    );
  });

  test('over HTTP with JSON data', () => {
    fc.assert(
      fc.property(uniqueTensors(arbitraryTensor(JSON_TYPES)), parameters, id, (tensors, custom, text) => {
        const encoded = encodeHttpInferRequest(callOf(tensors, custom, text), {
          binaryInputs: false,
          binaryOutputs: false,
        });
        assert.equal(encoded.headerLength, undefined);
        const { request, defaultForm } = decodeHttpInferRequest(
          Buffer.concat(encoded.chunks),
          undefined,
          model,
          options,
        );
        // A shape without dimensions counts as one without elements in JSON: its data are not read.
        const expected = tensors.map((tensor) =>
          tensor.shape.length === 0 ? { ...tensor, data: new Uint8Array(0) } : tensor,
        );
        assertRequest(request, expected, custom, text);
        assert.equal(defaultForm, JSON_FORM);
      }),
    );
  });

  test('over gRPC', () => {
    fc.assert(
      fc.property(uniqueTensors(arbitraryTensor()), parameters, id, (tensors, custom, text) => {
        const message = decodeModelInferRequest(Buffer.concat(encodeGrpcInferRequest(callOf(tensors, custom, text))));
        assert.equal(message.modelName, 'm');
        assertRequest(decodeGrpcInferRequest(message, model).request, tensors, custom, text);
      }),
    );
  });
});

describe('a response comes back from the wire as it was sent', () => {
  const response = fc.record({ outputs: uniqueTensors(arbitraryTensor()), parameters, id });
  const decoded = (form: typeof JSON_FORM): DecodedInferRequest => ({
    request: { id: '', inputs: [], requestedOutputs: [], ...NO_SETTINGS },
    forms: NO_FORMS,
    defaultForm: form,
  });
  const assertResult = (result: Omit<InferenceResponse, 'error'>, expected: Omit<InferenceResponse, 'error'>) => {
    assert.deepEqual([result.modelName, result.modelVersion, result.id], ['m', '1', expected.id]);
    assert.equal(result.outputs.length, expected.outputs.length);
    for (const [i, output] of result.outputs.entries()) assertTensor(output, expected.outputs[i]!);
    assert.deepEqual(result.parameters, expected.parameters);
  };

  test('over HTTP with binary data', () => {
    fc.assert(
      fc.property(response, (fields) => {
        const full = { modelName: 'm', modelVersion: '1', ...fields };
        const { chunks, headerLength, byteLength, contentType } = encodeHttpInferResponse(
          full,
          decoded(BINARY_FORM),
          model,
        );
        const blobs = full.outputs.some(({ data }) => data.length > 0);
        assert.equal(contentType, blobs ? 'application/octet-stream' : 'application/json');
        assert.equal(headerLength !== undefined, blobs);
        const body = Buffer.concat(chunks);
        assert.equal(body.length, byteLength);
        assertResult(decodeHttpInferResponse(body, headerLength), full);
      }),
    );
  });

  test('over HTTP with JSON data', () => {
    const json = fc.record({ outputs: uniqueTensors(arbitraryTensor(JSON_TYPES)), parameters, id });
    fc.assert(
      fc.property(json, (fields) => {
        const full = { modelName: 'm', modelVersion: '1', ...fields };
        const { chunks, headerLength } = encodeHttpInferResponse(full, decoded(JSON_FORM), model);
        assert.equal(headerLength, undefined);
        assertResult(decodeHttpInferResponse(Buffer.concat(chunks), undefined), full);
      }),
    );
  });

  test('over gRPC, unary and in a stream', () => {
    fc.assert(
      fc.property(response, fc.boolean(), (fields, final) => {
        const full = { modelName: 'm', modelVersion: '1', ...fields };
        const unary = encodeGrpcInferResponse(full, decoded(BINARY_FORM), model);
        assertResult(decodeGrpcInferResponse(Buffer.concat(unary)), full);
        const streamed = encodeGrpcStreamResponse(encodeGrpcInferResponse(full, decoded(BINARY_FORM), model, final));
        const event = decodeGrpcStreamResponse(Buffer.concat(streamed));
        assert.equal(event.final, final);
        assertResult(event.result!, { ...full, parameters: [...full.parameters, ['triton_final_response', final]] });
      }),
    );
  });
});

describe('large contents', () => {
  const data = new Uint8Array(1 << 20);
  const call: InferCall = { modelName: 'm', inputs: [{ name: 'x', datatype: 'UINT8', shape: [1 << 20], data }] };

  test('are chunks of their own when encoding and views when decoding', () => {
    const http = encodeHttpInferRequest(call);
    assert.ok(http.chunks.includes(data));
    const body = Buffer.concat(http.chunks);
    const fromHttp = decodeHttpInferRequest(body, http.headerLength, model, options).request.inputs[0]!;
    assert.equal(fromHttp.data.buffer, body.buffer);

    const grpc = encodeGrpcInferRequest(call);
    assert.ok(grpc.includes(data));
    const message = Buffer.concat(grpc);
    const fromGrpc = decodeGrpcInferRequest(decodeModelInferRequest(message), model).request.inputs[0]!;
    assert.equal(fromGrpc.data.buffer, message.buffer);
  });
});
