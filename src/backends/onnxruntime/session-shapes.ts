/**
 * The runtime's view of a model laid over the file's: after its shape inference the runtime may know more about a
 * tensor than the file says, and the server goes by the runtime.
 */

import type { OnnxModel, OnnxValue } from './onnx-file.js';
import { elementTypeNumber } from './onnx-types.js';

/** What a session of onnxruntime says about one input or output (`session.inputMetadata`, `session.outputMetadata`). */
export interface SessionValue {
  readonly name: string;
  readonly isTensor: boolean;
  readonly type?: string;
  /** Numbers for known dimensions; names (or -1) for the others. */
  readonly shape?: readonly (number | string)[];
}

/** ONNX's names of the runtime's tensor types. */
const ONNX_NAME_OF: Readonly<Record<string, string>> = { float32: 'FLOAT', float64: 'DOUBLE' };

/** Returns `model` with types and shapes as the runtime knows them. Values that are no tensors stay as in the file. */
export function withSessionShapes(
  model: OnnxModel,
  inputs: readonly SessionValue[],
  outputs: readonly SessionValue[],
): OnnxModel {
  return {
    ...model,
    inputs: refine(model.inputs, inputs),
    outputs: refine(model.outputs, outputs),
    shapesFrom: 'runtime',
  };
}

/**
 * True when the runtime's shape inference could tell more about the outputs than the file does: some output has a
 * dimension or a type that the file leaves open. Only then does the outcome of completion and checks need a session.
 */
export function needsRuntimeShapes(model: OnnxModel): boolean {
  return (
    model.shapesFrom === 'file' &&
    model.outputs.some(
      (value) =>
        value.kind === 'TENSOR' && (!value.hasShape || value.elementType === 0 || value.dims.some((dim) => dim < 0)),
    )
  );
}

function refine(values: readonly OnnxValue[], known: readonly SessionValue[]): OnnxValue[] {
  const byName = new Map(known.map((value) => [value.name, value]));
  return values.map((value) => {
    const seen = byName.get(value.name);
    if (seen === undefined || !seen.isTensor) return value;
    const type = seen.type ?? '';
    return {
      name: value.name,
      kind: 'TENSOR',
      elementType: elementTypeNumber(ONNX_NAME_OF[type] ?? type.toUpperCase()) || value.elementType,
      dims: (seen.shape ?? []).map((dim) => (typeof dim === 'number' && dim >= 0 ? dim : -1)),
      hasShape: true,
    };
  });
}
