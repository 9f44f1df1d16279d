/** What the request path needs of a model's configuration, compiled once when the model is loaded. */
import { type Datatype, datatypeOfConfigValue, elementSize } from '../../protocol/datatype.js';
import { ControlKind, type ModelConfig } from '../../protocol/proto/model-config.js';
import type { TensorMetadata } from '../../protocol/tensor.js';

/** One configured input. */
export interface InputPlan {
  readonly name: string;
  readonly datatype: Datatype;
  /** Bytes per element, 0 for BYTES. */
  readonly elementSize: number;
  /** `dims` of the configuration, without a batch dimension. */
  readonly dims: readonly number[];
  /** `reshape.shape` of the configuration. */
  readonly reshape: readonly number[] | undefined;
  readonly optional: boolean;
  readonly ragged: boolean;
  readonly shapeTensor: boolean;
  /** Shapes of requests that share a batch must be equal (a variable dimension that is not ragged, or a shape tensor). */
  readonly equalInBatch: boolean;
}

/** One configured output. */
export interface OutputPlan {
  readonly name: string;
  readonly datatype: Datatype;
  readonly dims: readonly number[];
  readonly reshape: readonly number[] | undefined;
  readonly shapeTensor: boolean;
}

/** A model's configuration as the request path sees it. */
export interface ModelPlan {
  readonly name: string;
  readonly version: string;
  /** Largest batch; 0 = the model does not batch. */
  readonly maxBatchSize: number;
  readonly inputs: readonly InputPlan[];
  readonly inputsByName: ReadonlyMap<string, InputPlan>;
  readonly requiredInputs: number;
  readonly outputs: readonly OutputPlan[];
  readonly outputsByName: ReadonlyMap<string, OutputPlan>;
  /** All output names: what a request without a list gets. */
  readonly outputNames: readonly string[];
  /** True when some output has a `reshape`. */
  readonly reshapesOutputs: boolean;
  /** True when requests of one batch have to be compared at all. */
  readonly comparesInBatch: boolean;
  readonly decoupled: boolean;
  /** Name and datatype of the correlation id's control tensor, where sequence batching has one. */
  readonly correlationControl: { readonly name: string; readonly datatype: Datatype } | undefined;
  readonly metadataInputs: readonly TensorMetadata[];
  readonly metadataOutputs: readonly TensorMetadata[];
}

/** Compiles a completed, validated configuration. */
export function compileModelPlan(config: ModelConfig, version: string): ModelPlan {
  const batches = config.max_batch_size > 0;
  const inputs = config.input.map((input): InputPlan => {
    const datatype = datatypeOfConfigValue(input.data_type) ?? 'BYTES';
    const dims = input.dims.map(Number);
    return {
      name: input.name,
      datatype,
      elementSize: elementSize(datatype),
      dims,
      reshape: input.reshape?.shape.map(Number),
      optional: input.optional,
      ragged: input.allow_ragged_batch,
      shapeTensor: input.is_shape_tensor,
      equalInBatch: input.is_shape_tensor || (dims.includes(-1) && !input.allow_ragged_batch),
    };
  });
  const outputs = config.output.map(
    (output): OutputPlan => ({
      name: output.name,
      datatype: datatypeOfConfigValue(output.data_type) ?? 'BYTES',
      dims: output.dims.map(Number),
      reshape: output.reshape?.shape.map(Number),
      shapeTensor: output.is_shape_tensor,
    }),
  );
  const optionalInputs = inputs.filter((input) => input.optional).length;
  const metadata = (tensor: InputPlan | OutputPlan): TensorMetadata => ({
    name: tensor.name,
    datatype: tensor.datatype,
    shape: batches && !tensor.shapeTensor ? [-1, ...tensor.dims] : tensor.dims,
  });
  return {
    name: config.name,
    version,
    maxBatchSize: config.max_batch_size,
    inputs,
    inputsByName: new Map(inputs.map((input) => [input.name, input])),
    requiredInputs: inputs.length - optionalInputs,
    outputs,
    outputsByName: new Map(outputs.map((output) => [output.name, output])),
    outputNames: outputs.map((output) => output.name),
    reshapesOutputs: outputs.some((output) => output.reshape !== undefined),
    comparesInBatch: optionalInputs > 0 || inputs.some((input) => input.equalInBatch),
    decoupled: config.model_transaction_policy?.decoupled ?? false,
    correlationControl: correlationControlOf(config),
    metadataInputs: inputs.map(metadata),
    metadataOutputs: outputs.map(metadata),
  };
}

function correlationControlOf(config: ModelConfig): ModelPlan['correlationControl'] {
  for (const input of config.sequence_batching?.control_input ?? []) {
    for (const control of input.control) {
      if (control.kind !== ControlKind.values.CONTROL_SEQUENCE_CORRID) continue;
      const datatype = datatypeOfConfigValue(control.data_type);
      if (datatype !== undefined) return { name: input.name, datatype };
    }
  }
  return undefined;
}
