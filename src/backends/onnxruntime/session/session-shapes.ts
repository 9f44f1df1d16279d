/**
 * The runtime's view of a model laid over the file's: after its shape inference the runtime may know more about a
 * tensor than the file says, and Triton goes by the runtime.
 */

import type { OnnxModel, OnnxValue } from '../../../onnx/onnx-file.js';
import { configTypeOfElementType } from '../../../onnx/onnx-types.js';
import type { OrtValueInfo } from './ort-binding.js';

/** Returns `model` with types and shapes as the runtime knows them. Values that are not tensors stay as in the file. */
export function withSessionShapes(
  model: OnnxModel,
  inputs: readonly OrtValueInfo[],
  outputs: readonly OrtValueInfo[],
): OnnxModel {
  return {
    ...model,
    inputs: refine(model.inputs, inputs),
    outputs: refine(model.outputs, outputs),
    shapesFrom: 'runtime',
  };
}

/**
 * True when only the runtime shows the outcome of completion and checks: some output has a dimension or a type that the
 * file leaves open, which shape inference may know, or some tensor has a type that has no name in configurations, which
 * the runtime may refuse with words of its own.
 */
export function needsRuntimeShapes(model: OnnxModel): boolean {
  if (model.shapesFrom !== 'file') return false;
  const isOpen = ({ hasShape, dims }: OnnxValue): boolean => !hasShape || dims.some((dim) => dim < 0);
  return (
    [...model.inputs, ...model.outputs].some(
      ({ kind, elementType }) => kind === 'TENSOR' && configTypeOfElementType(elementType) === 0,
    ) || model.outputs.some((value) => value.kind === 'TENSOR' && isOpen(value))
  );
}

function refine(values: readonly OnnxValue[], known: readonly OrtValueInfo[]): OnnxValue[] {
  const byName = new Map(known.map((value) => [value.name, value]));
  return values.map((value) => {
    const seen = byName.get(value.name);
    if (seen === undefined || !seen.isTensor) return value;
    return {
      name: value.name,
      kind: 'TENSOR',
      elementType: seen.type || value.elementType,
      dims: [...(seen.shape ?? [])],
      hasShape: true,
    };
  });
}
