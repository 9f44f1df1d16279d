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

/** What a fault has besides. */
interface More {
  /** Default INVALID_ARG. */
  readonly code?: ErrorCodeName;
  readonly remedy?: string | undefined;
  readonly details?: readonly string[] | undefined;
}

type Values = ReadonlyMap<string, OnnxValue>;

/** Lists all faults, none when the configuration fits. `model` should carry the runtime's shapes (session-shapes.ts). */
export function checkOnnxAgainstConfig(config: ModelConfig, model: OnnxModel): Fault[] {
  const check = new ConfigCheck(config);
  check.run(model);
  return check.faults;
}

class ConfigCheck {
  readonly faults: Fault[] = [];
  readonly #config: ModelConfig;

  constructor(config: ModelConfig) {
    this.#config = config;
  }

  run(model: OnnxModel): void {
    const config = this.#config;
    const inputs = byName(model.inputs);
    this.#checkKinds(model.inputs, ['input']);
    const controls = this.#checkSequenceControls(inputs);
    this.#checkInputCount(model, controls);
    const feedable = byName([...model.inputs, ...model.overridable]);
    config.input.forEach((input, index) => {
      this.#checkInput(input, ['input', index], feedable);
    });
    this.#checkKinds(model.outputs, ['output']);
    const outputs = byName(model.outputs);
    const scattered = new Set(config.batch_output.flatMap((output) => output.target_name));
    config.output.forEach((output, index) => {
      this.#checkOutput(output, ['output', index], outputs, scattered.has(output.name));
    });
  }

  #checkKinds(values: readonly OnnxValue[], path: readonly string[]): void {
    for (const value of values) {
      if (value.kind !== 'TENSOR') this.#fail('onnx-not-a-tensor', notATensor(value), path, { code: 'UNSUPPORTED' });
    }
  }

  /** Checks the control tensors; returns how many kinds of control are present. */
  #checkSequenceControls(inputs: Values): number {
    const batching = this.#config.sequence_batching;
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
        this.#checkControl(entry.name, control, ['sequence_batching', 'control_input', index], inputs);
        break;
      }
    }
    return present;
  }

  #checkControl(name: string, control: MessageOf<typeof SequenceControl>, path: FieldPath, inputs: Values): void {
    const value = inputs.get(name);
    if (value === undefined) {
      this.#fail(
        'sequence-control-unknown',
        `configuration specified sequence control '${name}', but model does not provide that input`,
        [...path, 'name'],
        { remedy: `Name one of the model's inputs: ${sortedNames(inputs)}.`, code: 'INTERNAL' },
      );
      return;
    }
    const dims = this.#config.max_batch_size > 0 ? value.dims.slice(1) : value.dims;
    if (dims.length !== 1 || dims[0] !== 1) {
      this.#fail(
        'sequence-control-dims',
        `unable to load model '${this.#config.name}', sequence control '${name}' in model has dims ${formatShape(dims)} but dims [1] is expected`,
        [...path, 'name'],
      );
    }
    const expected = typeOfControl(control);
    if (isKnownType(value) && datatypeOfElementType(value.elementType) !== datatypeOfConfigValue(expected)) {
      this.#fail(
        'sequence-control-type',
        `unable to load model '${this.#config.name}', sequence control '${name}', the model expects data-type ${elementTypeName(value.elementType)} but the model configuration specifies data-type ${typeName(expected)}`,
        [...path, 'control'],
      );
    }
  }

  #checkInputCount(model: OnnxModel, controls: number): void {
    const required = this.#config.input.filter((input) => !input.optional).length;
    const states = this.#config.sequence_batching?.state.length ?? 0;
    const expected = required + this.#config.batch_input.length + controls + states;
    if (expected === model.inputs.length) return;
    const names = model.inputs.map((value) => value.name).join(', ');
    this.#fail(
      'onnx-input-count',
      `unable to load model '${this.#config.name}', configuration expects ${expected} inputs, model provides ${model.inputs.length}`,
      ['input'],
      { remedy: model.inputs.length === 0 ? 'The model has no inputs.' : `The model's inputs are: ${names}.` },
    );
  }

  #checkInput(input: ModelInput, path: FieldPath, values: Values): void {
    const { name } = input;
    const before = `unable to load model '${this.#config.name}', `;
    if (input.optional && this.#config.max_batch_size !== 0) {
      this.#fail(
        'onnx-optional-batching',
        `${before}optional input '${name}' is not supported for models that support batching`,
        [...path, 'optional'],
        { remedy: 'Remove `optional`, or set max_batch_size to 0.' },
      );
    }
    const value = values.get(name);
    if (value === undefined) {
      this.#fail(
        'onnx-unknown-input',
        `unexpected inference input '${name}', allowed inputs are: ${sortedNames(values)}`,
        [...path, 'name'],
        { remedy: didYouMean(name, values.keys()) },
      );
      return;
    }
    this.#checkType('input', input, value, path);
    if (!input.allow_ragged_batch) {
      this.#checkDims(input, value, path, false);
      return;
    }
    if (input.optional) {
      this.#fail(
        'onnx-ragged-optional',
        `${before}configuration expects model provides input with shape [-1] for ragged input '${name}', which is not supported for optional input`,
        [...path, 'allow_ragged_batch'],
      );
    }
    if (value.dims.length !== 1 || value.dims[0] !== -1) {
      this.#fail(
        'onnx-ragged-shape',
        `${before}configuration expects model provides input with shape [-1]  for ragged input '${name}', model provides ${formatShape(value.dims)}`,
        [...path, 'allow_ragged_batch'],
      );
    }
  }

  #checkOutput(output: ModelOutput, path: FieldPath, values: Values, isScattered: boolean): void {
    const value = values.get(output.name);
    if (value === undefined) {
      this.#fail(
        'onnx-unknown-output',
        `unexpected inference output '${output.name}', allowed outputs are: ${sortedNames(values)}`,
        [...path, 'name'],
        { remedy: didYouMean(output.name, values.keys()) },
      );
      return;
    }
    this.#checkType('output', output, value, path);
    if (!isScattered) this.#checkDims(output, value, path, true);
  }

  #checkType(what: 'input' | 'output', tensor: ModelInput | ModelOutput, value: OnnxValue, path: FieldPath): void {
    const configured = typeName(tensor.data_type);
    const wanted = datatypeOfConfigValue(tensor.data_type);
    if (wanted === undefined) {
      this.#fail(
        'onnx-unsupported-type',
        `unsupported datatype ${configured} for ${what} '${tensor.name}' for model '${this.#config.name}'`,
        [...path, 'data_type'],
        { code: 'INTERNAL' },
      );
      return;
    }
    const provided = datatypeOfElementType(value.elementType);
    if (!isKnownType(value) || provided === wanted) return;
    this.#fail(
      'onnx-type-mismatch',
      `unable to load model '${this.#config.name}', configuration expects datatype ${configured} for ${what} '${tensor.name}', model provides TYPE_${provided ?? '<invalid>'}`,
      [...path, 'data_type'],
      { remedy: provided === undefined ? undefined : `Write data_type: ${configTypeOf(provided)}.` },
    );
  }

  #checkDims(tensor: ModelInput | ModelOutput, value: OnnxValue, path: FieldPath, exact: boolean): void {
    const configured = (tensor.reshape?.shape ?? tensor.dims).map(Number);
    const where = tensor.reshape === undefined ? [...path, 'dims'] : [...path, 'reshape', 'shape'];
    const expected = formatShape(value.dims);
    if (value.dims.length === 0) {
      if (configured.every((dim) => dim === 1)) return;
      this.#fail(
        'onnx-scalar-dims',
        `unable to load model '${this.#config.name}', scalar tensor '${tensor.name}', should only provide 1 in the model configuration when the model doesn't support batching. Model configuration provided: ${formatShape(configured)}.`,
        where,
      );
      return;
    }
    const before = `model '${this.#config.name}', tensor '${tensor.name}': `;
    const batching = this.#config.max_batch_size > 0;
    if (batching && value.dims[0] !== -1) {
      this.#fail(
        'onnx-not-batching',
        `${before}for the model to support batching the shape should have at least 1 dimension and the first dimension must be -1; but shape expected by the model is ${expected}`,
        ['max_batch_size'],
        {
          remedy:
            'Set max_batch_size to 0 and write the whole shape into dims, or export the model with a dynamic first dimension.',
        },
      );
      return;
    }
    const complete = batching ? [-1, ...configured] : configured;
    if (fits(complete, value.dims, exact)) return;
    const shape = batching
      ? `(an initial batch dimension because max_batch_size > 0 followed by the explicit tensor shape, making complete shape ${formatShape(complete)})`
      : `(shape ${formatShape(complete)})`;
    this.#fail(
      'onnx-dims-mismatch',
      `${before}the model expects ${value.dims.length} dimensions (shape ${expected}) but the model configuration specifies ${complete.length} dimensions ${shape}`,
      where,
      {
        remedy: dimsRemedy(tensor.reshape === undefined ? 'dims' : 'reshape.shape', configured, value.dims, batching),
        details: compareShapes({ name: 'model', dims: value.dims }, { name: 'configuration', dims: complete }, (a, b) =>
          fitsDim(b, a, exact),
        ),
      },
    );
  }

  #fail(rule: RuleName, message: string, path: FieldPath, more: More = {}): void {
    const { code = 'INVALID_ARG', remedy, details } = more;
    this.faults.push({
      ...{ code, rule, message, path },
      ...(remedy === undefined ? {} : { remedy }),
      ...(details === undefined ? {} : { details }),
    });
  }
}

function byName(values: readonly OnnxValue[]): Values {
  return new Map(values.map((value) => [value.name, value]));
}

function typeOfControl(control: MessageOf<typeof SequenceControl>): number {
  if (control.kind === ControlKind.values.CONTROL_SEQUENCE_CORRID) return control.data_type;
  if (control.int32_false_true.length > 0) return DataType.values.TYPE_INT32;
  return control.fp32_false_true.length > 0 ? DataType.values.TYPE_FP32 : DataType.values.TYPE_BOOL;
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
