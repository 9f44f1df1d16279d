/** Rules of inputs and outputs. */

import type { Faults } from '../../contract/fault.js';
import type { FieldPath } from '../../contract/finding.js';
import type { RuleName } from '../../contract/rule-table.js';
import {
  DataType,
  InputFormat,
  type ModelConfig,
  type ModelInput,
  type ModelOutput,
} from '../../protocol/proto/model-config.js';

const VARIABLE = -1n;
const LARGEST_COUNT = 2n ** 63n - 1n;

type Add = (rule: RuleName, path: FieldPath, message: string, remedy?: string) => void;

/** Checks every input, then every output. `isEngine`: the model is a compiled engine. */
export function checkTensors(config: ModelConfig, isEngine: boolean, faults: Faults): void {
  for (const kind of ['input', 'output'] as const) {
    for (const [i, tensor] of config[kind].entries()) {
      const add: Add = (rule, path, message, remedy) =>
        faults.add(rule, [kind, i, ...path], `${message} for ${config.name}`, remedy);
      checkTensor(config, kind, tensor, add);
      checkEngineFields(kind, tensor, isEngine, add);
    }
  }
}

function checkTensor(config: ModelConfig, kind: 'input' | 'output', tensor: ModelInput | ModelOutput, add: Add): void {
  const prefix = `model ${kind} `;
  const named = `${prefix}'${tensor.name}' `;
  if (tensor.name === '') add('tensor-name', [], `${prefix}must specify 'name'`);
  if (tensor.data_type === DataType.values.TYPE_INVALID) {
    add('tensor-data-type', [], `${named}must specify 'data_type'`, "Add e.g. 'data_type: TYPE_FP32'.");
  }
  if (tensor.dims.length === 0) {
    add(
      'tensor-dims',
      [],
      `${named}must specify 'dims'`,
      "Add 'dims', without the batch dimension if the model batches.",
    );
  } else {
    checkShapes(config, tensor, named, add);
  }
  if (
    'format' in tensor &&
    (tensor.format === InputFormat.values.FORMAT_NHWC || tensor.format === InputFormat.values.FORMAT_NCHW) &&
    tensor.dims.length !== 3
  ) {
    add('tensor-format', ['format'], 'model input NHWC/NCHW require 3 dims');
  }
}

/** Fields that only compiled engines have, which are those of TensorRT. */
function checkEngineFields(
  kind: 'input' | 'output',
  tensor: ModelInput | ModelOutput,
  isEngine: boolean,
  add: Add,
): void {
  if (tensor.is_shape_tensor && !isEngine) {
    add('shape-tensor', ['is_shape_tensor'], 'shape tensors are only supported for TensorRT platform');
  }
  if (!tensor.is_non_linear_format_io) return;
  const path = ['is_non_linear_format_io'];
  if (!isEngine) {
    add('non-linear-format', path, 'Non-linear IO format is only supported for the TensorRT platform');
  } else if (tensor.dims.length !== 3) {
    add('non-linear-format', path, `Non-linear IO format ${kind} requires 3 dims`);
  }
}

function checkShapes(config: ModelConfig, tensor: ModelInput | ModelOutput, named: string, add: Add): void {
  const { dims } = tensor;
  const reshape = tensor.reshape?.shape;
  if (reshape?.length === 0 && config.max_batch_size === 0) {
    add(
      'reshape-empty',
      ['reshape'],
      `${named}cannot have empty reshape for non-batching model as scalar tensors are not supported`,
    );
    return;
  }
  const isBad = (dim: bigint): boolean => dim < 1n && dim !== VARIABLE;
  let good = true;
  for (const [field, shape, words] of [
    ['dims', dims, 'dimension'],
    ['reshape', reshape ?? [], 'reshape dimensions'],
  ] as const) {
    const at = shape.findIndex(isBad);
    if (at < 0) continue;
    const path = field === 'dims' ? ['dims', at] : ['reshape', 'shape', at];
    add(
      'tensor-dims',
      path,
      `${named}${words} must be integer >= 1, or -1 to indicate a variable-size dimension`,
      `${shape[at]} is not a size: write the number of elements, or -1 where it differs from request to request.`,
    );
    good = false;
  }
  if (good && reshape !== undefined) checkReshape(tensor, reshape, named, add);
}

function checkReshape(
  { name, dims }: ModelInput | ModelOutput,
  reshape: readonly bigint[],
  named: string,
  add: Add,
): void {
  const path = ['reshape', 'shape'];
  const counts: bigint[] = [];
  for (const [shape, words] of [
    [dims, 'dims'],
    [reshape, 'reshape'],
  ] as const) {
    const count = elementCount(shape);
    if (count > LARGEST_COUNT) {
      add(
        'element-count',
        path,
        `element count for tensor '${name} ${words}' exceeds maximum size of ${LARGEST_COUNT}`,
      );
      return;
    }
    counts.push(count);
  }
  const [dimsCount, reshapeCount] = counts as [bigint, bigint];
  if (dimsCount !== reshapeCount && (reshapeCount !== 0n || dimsCount !== 1n)) {
    add(
      'reshape-size',
      path,
      `${named}has different size for dims and reshape`,
      `dims [${dims.join(',')}] and reshape [${reshape.join(',')}] must hold equally many elements.`,
    );
    return;
  }
  if (dimsCount !== VARIABLE) return;
  const fixedDims = fixedRuns(dims);
  const fixedReshape = fixedRuns(reshape);
  if (fixedDims.length !== fixedReshape.length) {
    const text = `${named}has different number of variable-size dimensions for dims and reshape`;
    add('reshape-size', path, text);
  } else if (fixedDims.some((count, i) => count !== fixedReshape[i])) {
    add('reshape-size', path, `${named}has different size for dims and reshape`);
  }
}

/** -1 with any variable dimension, 0 for an empty shape, else the product. */
function elementCount(shape: readonly bigint[]): bigint {
  if (shape.length === 0) return 0n;
  if (shape.includes(VARIABLE)) return VARIABLE;
  return shape.reduce((product, dim) => product * dim, 1n);
}

/** Element counts of the runs of fixed dimensions between the variable ones. */
function fixedRuns(shape: readonly bigint[]): bigint[] {
  const runs = [1n];
  for (const dim of shape) {
    if (dim === VARIABLE) runs.push(1n);
    else runs[runs.length - 1] = (runs.at(-1) as bigint) * dim;
  }
  return runs;
}
