/**
 * Checks a configuration against the model it describes: every fault, in the order in
 * which Triton checks; the first is the one with which Triton refuses the model.
 */

import type { ErrorCodeName } from '../base/error.js';
import { didYouMean } from '../base/nearest-name.js';
import type { Fault } from '../contract/fault.js';
import type { FieldPath } from '../contract/finding.js';
import type { RuleName } from '../contract/rule-table.js';
import { compareShapes } from '../modelconfig/complete/compare-shapes.js';
import { configTypeOf, datatypeOfConfigValue, formatShape } from '../protocol/datatype.js';
import {
  ControlKind,
  DataType,
  type ModelConfig,
  type ModelInput,
  type ModelOutput,
  type SequenceControl,
} from '../protocol/proto/model-config.js';
import { enumName, type MessageOf } from '../protocol/proto/schema.js';
import { notATensor } from './auto-complete.js';
import type { OnnxModel, OnnxValue } from './onnx-file.js';
import { datatypeOfElementType, elementTypeName } from './onnx-types.js';

type Fail = (
  rule: RuleName,
  message: string,
  path: FieldPath,
  remedy?: string,
  code?: ErrorCodeName,
  details?: readonly string[],
) => void;
type Values = ReadonlyMap<string, OnnxValue>;

/** Lists all faults, none when the configuration fits. `model` should carry the runtime's shapes (session-shapes.ts). */
export function checkOnnxAgainstConfig(config: ModelConfig, model: OnnxModel): Fault[] {
  const faults: Fault[] = [];
  const fail: Fail = (rule, message, path, remedy, code = 'INVALID_ARG', details = undefined) => {
    const more = { ...(remedy === undefined ? {} : { remedy }), ...(details === undefined ? {} : { details }) };
    faults.push({ code, rule, message, path, ...more });
  };
  const inputs = byName(model.inputs);
  checkKinds(model.inputs, ['input'], fail);
  const controls = checkSequenceControls(config, inputs, fail);
  checkInputCount(config, model, controls, fail);
  const feedable = byName([...model.inputs, ...model.overridable]);
  config.input.forEach((input, index) => {
    checkInput(config, input, ['input', index], feedable, fail);
  });
  checkKinds(model.outputs, ['output'], fail);
  const outputs = byName(model.outputs);
  const scattered = new Set(config.batch_output.flatMap((output) => output.target_name));
  config.output.forEach((output, index) => {
    checkOutput(config, output, ['output', index], outputs, scattered.has(output.name), fail);
  });
  return faults;
}

function checkKinds(values: readonly OnnxValue[], path: readonly string[], fail: Fail): void {
  for (const value of values) {
    if (value.kind !== 'TENSOR') fail('onnx-not-a-tensor', notATensor(value), path, undefined, 'UNSUPPORTED');
  }
}

function byName(values: readonly OnnxValue[]): Values {
  return new Map(values.map((value) => [value.name, value]));
}

/** Checks the control tensors; returns how many kinds of control are present. */
function checkSequenceControls(config: ModelConfig, inputs: Values, fail: Fail): number {
  const batching = config.sequence_batching;
  if (batching === undefined) return 0;
  let present = 0;
  const kinds = ControlKind.values;
  for (const kind of [
    kinds.CONTROL_SEQUENCE_START,
    kinds.CONTROL_SEQUENCE_END,
    kinds.CONTROL_SEQUENCE_READY,
    kinds.CONTROL_SEQUENCE_CORRID,
  ]) {
    for (const [index, entry] of batching.control_input.entries()) {
      const control = entry.control.find((candidate) => candidate.kind === kind);
      if (control === undefined) continue;
      present++;
      checkControl(config, entry.name, control, ['sequence_batching', 'control_input', index], inputs, fail);
      break;
    }
  }
  return present;
}

function checkControl(
  config: ModelConfig,
  name: string,
  control: MessageOf<typeof SequenceControl>,
  path: FieldPath,
  inputs: Values,
  fail: Fail,
): void {
  const value = inputs.get(name);
  if (value === undefined) {
    fail(
      'sequence-control-unknown',
      `configuration specified sequence control '${name}', but model does not provide that input`,
      [...path, 'name'],
      `Name one of the model's inputs: ${sortedNames(inputs)}.`,
      'INTERNAL',
    );
    return;
  }
  const dims = config.max_batch_size > 0 ? value.dims.slice(1) : value.dims;
  if (dims.length !== 1 || dims[0] !== 1) {
    fail(
      'sequence-control-dims',
      `unable to load model '${config.name}', sequence control '${name}' in model has dims ${formatShape(dims)} but dims [1] is expected`,
      [...path, 'name'],
    );
  }
  const expected = typeOfControl(control);
  if (isKnownType(value) && datatypeOfElementType(value.elementType) !== datatypeOfConfigValue(expected)) {
    fail(
      'sequence-control-type',
      `unable to load model '${config.name}', sequence control '${name}', the model expects data-type ${elementTypeName(value.elementType)} but the model configuration specifies data-type ${typeName(expected)}`,
      [...path, 'control'],
    );
  }
}

function typeOfControl(control: MessageOf<typeof SequenceControl>): number {
  if (control.kind === ControlKind.values.CONTROL_SEQUENCE_CORRID) return control.data_type;
  if (control.int32_false_true.length > 0) return DataType.values.TYPE_INT32;
  return control.fp32_false_true.length > 0 ? DataType.values.TYPE_FP32 : DataType.values.TYPE_BOOL;
}

function checkInputCount(config: ModelConfig, model: OnnxModel, controls: number, fail: Fail): void {
  const required = config.input.filter((input) => !input.optional).length;
  const states = config.sequence_batching?.state.length ?? 0;
  const expected = required + config.batch_input.length + controls + states;
  if (expected === model.inputs.length) return;
  const names = model.inputs.map((value) => value.name).join(', ');
  fail(
    'onnx-input-count',
    `unable to load model '${config.name}', configuration expects ${expected} inputs, model provides ${model.inputs.length}`,
    ['input'],
    model.inputs.length === 0 ? 'The model has no inputs.' : `The model's inputs are: ${names}.`,
  );
}

function checkInput(config: ModelConfig, input: ModelInput, path: FieldPath, values: Values, fail: Fail): void {
  const { name } = input;
  const before = `unable to load model '${config.name}', `;
  if (input.optional && config.max_batch_size !== 0) {
    fail(
      'onnx-optional-batching',
      `${before}optional input '${name}' is not supported for models that support batching`,
      [...path, 'optional'],
      'Remove `optional`, or set max_batch_size to 0.',
    );
  }
  const value = values.get(name);
  if (value === undefined) {
    fail(
      'onnx-unknown-input',
      `unexpected inference input '${name}', allowed inputs are: ${sortedNames(values)}`,
      [...path, 'name'],
      didYouMean(name, values.keys()),
    );
    return;
  }
  checkType(config, 'input', input, value, path, fail);
  if (!input.allow_ragged_batch) {
    checkDims(config, input, value, path, false, fail);
    return;
  }
  if (input.optional) {
    fail(
      'onnx-ragged-optional',
      `${before}configuration expects model provides input with shape [-1] for ragged input '${name}', which is not supported for optional input`,
      [...path, 'allow_ragged_batch'],
    );
  }
  if (value.dims.length !== 1 || value.dims[0] !== -1) {
    fail(
      'onnx-ragged-shape',
      `${before}configuration expects model provides input with shape [-1]  for ragged input '${name}', model provides ${formatShape(value.dims)}`,
      [...path, 'allow_ragged_batch'],
    );
  }
}

function checkOutput(
  config: ModelConfig,
  output: ModelOutput,
  path: FieldPath,
  values: Values,
  isScattered: boolean,
  fail: Fail,
): void {
  const value = values.get(output.name);
  if (value === undefined) {
    fail(
      'onnx-unknown-output',
      `unexpected inference output '${output.name}', allowed outputs are: ${sortedNames(values)}`,
      [...path, 'name'],
      didYouMean(output.name, values.keys()),
    );
    return;
  }
  checkType(config, 'output', output, value, path, fail);
  if (!isScattered) checkDims(config, output, value, path, true, fail);
}

function checkType(
  config: ModelConfig,
  what: 'input' | 'output',
  tensor: ModelInput | ModelOutput,
  value: OnnxValue,
  path: FieldPath,
  fail: Fail,
): void {
  const configured = typeName(tensor.data_type);
  const wanted = datatypeOfConfigValue(tensor.data_type);
  if (wanted === undefined) {
    fail(
      'onnx-unsupported-type',
      `unsupported datatype ${configured} for ${what} '${tensor.name}' for model '${config.name}'`,
      [...path, 'data_type'],
      undefined,
      'INTERNAL',
    );
    return;
  }
  const provided = datatypeOfElementType(value.elementType);
  if (!isKnownType(value) || provided === wanted) return;
  fail(
    'onnx-type-mismatch',
    `unable to load model '${config.name}', configuration expects datatype ${configured} for ${what} '${tensor.name}', model provides TYPE_${provided ?? '<invalid>'}`,
    [...path, 'data_type'],
    provided === undefined ? undefined : `Write data_type: ${configTypeOf(provided)}.`,
  );
}

function checkDims(
  config: ModelConfig,
  tensor: ModelInput | ModelOutput,
  value: OnnxValue,
  path: FieldPath,
  exact: boolean,
  fail: Fail,
): void {
  const configured = (tensor.reshape?.shape ?? tensor.dims).map(Number);
  const where = tensor.reshape === undefined ? [...path, 'dims'] : [...path, 'reshape', 'shape'];
  const expected = formatShape(value.dims);
  if (value.dims.length === 0) {
    if (configured.every((dim) => dim === 1)) return;
    fail(
      'onnx-scalar-dims',
      `unable to load model '${config.name}', scalar tensor '${tensor.name}', should only provide 1 in the model configuration when the model doesn't support batching. Model configuration provided: ${formatShape(configured)}.`,
      where,
    );
    return;
  }
  const before = `model '${config.name}', tensor '${tensor.name}': `;
  const batching = config.max_batch_size > 0;
  if (batching && value.dims[0] !== -1) {
    fail(
      'onnx-not-batching',
      `${before}for the model to support batching the shape should have at least 1 dimension and the first dimension must be -1; but shape expected by the model is ${expected}`,
      ['max_batch_size'],
      'Set max_batch_size to 0 and write the whole shape into dims, or export the model with a dynamic first dimension.',
    );
    return;
  }
  const complete = batching ? [-1, ...configured] : configured;
  if (fits(complete, value.dims, exact)) return;
  const shape = batching
    ? `(an initial batch dimension because max_batch_size > 0 followed by the explicit tensor shape, making complete shape ${formatShape(complete)})`
    : `(shape ${formatShape(complete)})`;
  fail(
    'onnx-dims-mismatch',
    `${before}the model expects ${value.dims.length} dimensions (shape ${expected}) but the model configuration specifies ${complete.length} dimensions ${shape}`,
    where,
    dimsRemedy(tensor.reshape === undefined ? 'dims' : 'reshape.shape', configured, value.dims, batching),
    'INVALID_ARG',
    compareShapes({ name: 'model', dims: value.dims }, { name: 'configuration', dims: complete }, (a, b) =>
      fitsDim(b, a, exact),
    ),
  );
}

function dimsRemedy(
  field: string,
  configured: readonly number[],
  provided: readonly number[],
  batching: boolean,
): string {
  const [first, ...rest] = provided;
  if (!batching) {
    const lacksBatch = first === -1 && rest.join() === configured.join();
    return lacksBatch
      ? `Set max_batch_size: it is 0, so the model's batch dimension counts as one of '${field}'.`
      : `Write ${field}: [ ${provided.join(', ')} ].`;
  }
  if (rest.length === 0)
    return 'Write dims: [ 1 ] and reshape { shape: [ ] }: the model has the batch dimension alone.';
  const stands =
    provided.join() === configured.join() ? ' The batch dimension is left out: max_batch_size stands for it.' : '';
  return `Write ${field}: [ ${rest.join(', ')} ].${stands}`;
}

function fits(configured: readonly number[], provided: readonly number[], exact: boolean): boolean {
  return (
    configured.length === provided.length &&
    provided.every((dim, index) => fitsDim(BigInt(configured[index]!), BigInt(dim), exact))
  );
}

function fitsDim(configured: bigint, provided: bigint, exact: boolean): boolean {
  return provided === configured || (!exact && provided === -1n);
}

/** False where the file leaves the type to the runtime's inference. */
function isKnownType(value: OnnxValue): boolean {
  return value.kind === 'TENSOR' && value.elementType !== 0;
}

function typeName(number: number): string {
  return enumName(DataType, number) ?? String(number);
}

function sortedNames(values: Values): string {
  return [...values.keys()].sort().join(', ');
}
