import { block, initializer, integer, node, onnxModel } from '../test/support/repositories/onnx-builder.js';

/** Picture size, channels of every layer, and layers of the convolution model. */
export interface ConvModel {
  readonly size: number;
  readonly channels: number;
  readonly layers: number;
}

/** Shape of one image, without the batch dimension. */
export function pictureShape({ size }: ConvModel): [number, number, number] {
  return [3, size, size];
}

/**
 * An ONNX file that batches: `x` FP32 [-1,3,size,size] through 3x3 convolutions with ReLU, averaged over the image to `y`
 * FP32 [-1,channels]. The weights are a fixed pattern.
 */
export function convModel(model: ConvModel): Uint8Array {
  const { channels, layers } = model;
  const graph: Uint8Array[] = [];
  let before = 'x';
  for (let layer = 0; layer < layers; layer++) {
    const depth = layer === 0 ? 3 : channels;
    const weights = new Float32Array(channels * depth * 9).map((_, i) => (((i * 7) % 11) - 5) / (depth * 16));
    const raw = new Uint8Array(weights.buffer);
    graph.push(initializer(`w${layer}`, [channels, depth, 3, 3], raw));
    graph.push(
      node('Conv', [before, `w${layer}`], [`c${layer}`], integers('kernel_shape', 3, 3), integers('pads', 1, 1, 1, 1)),
    );
    graph.push(node('Relu', [`c${layer}`], [`r${layer}`]));
    before = `r${layer}`;
  }
  graph.push(node('GlobalAveragePool', [before], ['p']), node('Flatten', ['p'], ['y']));
  return onnxModel({
    inputs: [{ name: 'x', dims: ['N', ...pictureShape(model)] }],
    outputs: [{ name: 'y', dims: ['N', channels] }],
    graph,
  });
}

/** A node's attribute that is a list of integers (AttributeProto: name 1, ints 8, type 20). */
function integers(name: string, ...values: number[]): Uint8Array {
  return block(5, block(1, name), ...values.map((value) => integer(8, value)), integer(20, 7));
}
