/** From the inputs made of images to the requests that carry them. */
import type { InferCall } from '../client/api/client.js';
import type { ImageModel } from './model-input.js';

/** One request: which images it holds, by index. */
export type ImageBatch = readonly number[];

/**
 * Groups images into requests: in order, starting again at the first when the list ends, until the batch is full; a
 * request that reaches the end of the list is the last one. 3 images by 2: [0, 1], [2, 0].
 */
export function imageBatches(images: number, batchSize: number): ImageBatch[] {
  const batches: ImageBatch[] = [];
  for (let start = 0; start < images; start += batchSize) {
    batches.push(Array.from({ length: batchSize }, (_, i) => (start + i) % images));
  }
  return batches;
}

/** The request with the inputs of a batch; `id` is its number. */
export function requestOf(
  id: string,
  batch: readonly Uint8Array[],
  model: ImageModel,
  options: { readonly model: string; readonly version: string; readonly classes: number },
): InferCall {
  const { width, height, channels, layout, datatype } = model.image;
  const dims = layout === 'NHWC' ? [height, width, channels] : [channels, height, width];
  const [first, ...more] = batch;
  return {
    modelName: options.model,
    modelVersion: options.version,
    id,
    inputs: [
      {
        name: model.inputName,
        datatype,
        shape: model.maxBatchSize > 0 ? [batch.length, ...dims] : dims,
        data: more.length === 0 ? (first as Uint8Array) : Buffer.concat(batch),
      },
    ],
    outputs: [{ name: model.outputName, classification: options.classes }],
  };
}

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
