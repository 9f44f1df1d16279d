import { toBinary } from '../../src/protocol/proto/codec.js';
import { create } from '../../src/protocol/proto/schema.js';
import * as service from '../../src/protocol/proto/service/service.js';

/** An encoded inference request with one INT32 input of N elements. */
export function inferMessage(
  model: string,
  elements = 4,
  parameters: Readonly<Record<string, bigint | boolean>> = {},
  fill = 0,
): Uint8Array {
  const entries = Object.entries(parameters).map(([name, value]) => {
    const parameter = {
      ...create(service.InferParameter),
      ...(typeof value === 'bigint' ? { int64_param: value } : { bool_param: value }),
    };
    return [name, parameter] as const;
  });
  return toBinary(service.ModelInferRequest, {
    ...create(service.ModelInferRequest),
    model_name: model,
    parameters: new Map(entries),
    inputs: [{ ...create(service.InferInputTensor), name: 'INPUT0', datatype: 'INT32', shape: [1n, BigInt(elements)] }],
    raw_input_contents: [new Uint8Array(Int32Array.from({ length: elements }, () => fill).buffer)],
  });
}

/** A field of a protobuf message that holds bytes. */
export function field(number: number, bytes: Uint8Array): Buffer {
  const key: number[] = [];
  for (let rest = bytes.length; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) {
      key.push(rest);
      break;
    }
    key.push((rest % 128) | 128);
  }
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...key]), bytes]);
}
