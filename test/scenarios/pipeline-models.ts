/**
 * Two ONNX files that stand in for a text detector (EAST) and a text recogniser: the same inputs and outputs by name, type
 * and shape, but a few nodes that see red marks and read grey bars (pipeline/make_image.py draws both).
 */
import { block, initializer, integer, node, onnxModel } from '../support/repositories/onnx-builder.js';

const LETTERS = 37;

/** An attribute that is a list of integers. */
const ints = (name: string, ...values: number[]): Uint8Array =>
  block(5, block(1, name), ...values.map((value) => integer(8, value)), integer(20, 7));

const floats = (values: readonly number[]): Uint8Array => new Uint8Array(Float32Array.from(values).buffer);
const longs = (values: readonly number[]): Uint8Array => new Uint8Array(BigInt64Array.from(values.map(BigInt)).buffer);

/** A mark is a square of 4 x 4 red pixels; what it marks is 100 x 32 pixels to the right of it. */
export function detectionModel(): Uint8Array {
  return onnxModel({
    inputs: [{ name: 'input_images:0', dims: [undefined, undefined, undefined, 3] }],
    outputs: [
      { name: 'feature_fusion/Conv_7/Sigmoid:0', dims: [undefined, undefined, undefined, 1] },
      { name: 'feature_fusion/concat_3:0', dims: [undefined, undefined, undefined, 5] },
    ],
    graph: [
      node('Transpose', ['input_images:0'], ['planes'], ints('perm', 0, 3, 1, 2)),
      node('AveragePool', ['planes'], ['cells'], ints('kernel_shape', 4, 4), ints('strides', 4, 4)),
      node('Conv', ['cells', 'red', 'red_bias'], ['logits']),
      node('Sigmoid', ['logits'], ['scores']),
      node('Transpose', ['scores'], ['feature_fusion/Conv_7/Sigmoid:0'], ints('perm', 0, 2, 3, 1)),
      node('Conv', ['cells', 'nothing', 'box'], ['boxes']),
      node('Transpose', ['boxes'], ['feature_fusion/concat_3:0'], ints('perm', 0, 2, 3, 1)),
      initializer('red', [1, 3, 1, 1], floats([0.1, -0.1, -0.1])),
      initializer('red_bias', [1], floats([-20])),
      initializer('nothing', [5, 3, 1, 1], floats(Array(15).fill(0))),
      // Distances of the top, right, bottom and left edge from the mark, and the angle.
      initializer('box', [5], floats([0, 104, 32, -4, 0])),
    ],
  });
}

/** 26 columns of 4 pixels; the class of each is the one of 37 whose grey is nearest to the column's. */
export function recognitionModel(): Uint8Array {
  const greys = Array.from({ length: LETTERS }, (_, i) => i / (LETTERS - 1));
  return onnxModel({
    inputs: [{ name: 'input.1', dims: [1, 1, 32, 100] }],
    outputs: [{ name: '307', dims: [1, 26, LETTERS] }],
    graph: [
      node(
        'AveragePool',
        ['input.1'],
        ['columns'],
        ints('kernel_shape', 32, 4),
        ints('strides', 32, 4),
        ints('pads', 0, 2, 0, 2),
      ),
      node('Conv', ['columns', 'weights', 'bias'], ['classes']),
      node('Reshape', ['classes', 'shape'], ['rows']),
      node('Transpose', ['rows'], ['307'], ints('perm', 0, 2, 1)),
      initializer('weights', [LETTERS, 1, 1, 1], floats(greys.map((grey) => 2 * grey))),
      initializer('bias', [LETTERS], floats(greys.map((grey) => -grey * grey))),
      initializer('shape', [3], longs([1, LETTERS, 26]), 7),
    ],
  });
}
