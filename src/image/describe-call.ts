import type { InferCall } from '../client/api/client.js';

/** A request as JSON without its data, for `-v`: the header that the HTTP protocol sends in front of the binary part. */
export function describeCall({ id, inputs, outputs = [] }: InferCall): string {
  return JSON.stringify({
    id,
    inputs: inputs.map(({ name, datatype, shape, data }) => ({
      name,
      datatype,
      shape,
      parameters: { binary_data_size: data?.length ?? 0 },
    })),
    outputs: outputs.map(({ name, classification }) => ({ name, parameters: { classification, binary_data: true } })),
  });
}
