import type { OnnxModel, OnnxValue } from '../../../src/onnx/onnx-file.js';

/** A model with the given inputs and outputs. */
export function modelOf(inputs: Record<string, number[]>, outputs: Record<string, number[]>, type = 1): OnnxModel {
  const values = (table: Record<string, number[]>): OnnxValue[] =>
    Object.entries(table).map(([name, dims]) => ({ name, kind: 'TENSOR', elementType: type, dims, hasShape: true }));
  return {
    path: 'model.onnx',
    irVersion: 7,
    producerName: '',
    producerVersion: '',
    opsets: new Map([['', 13]]),
    graphName: 'g',
    inputs: values(inputs),
    overridable: [],
    outputs: values(outputs),
    nodeCount: 1,
    initializerNames: new Set(),
    externalData: [],
    metadata: new Map(),
    shapesFrom: 'file',
  };
}
