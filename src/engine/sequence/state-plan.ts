/** Implicit states of a model as its configuration describes them. */

import type { Log } from '../../base/log.js';
import type { InputPlan, ModelPlan } from '../../modelconfig/plan/model-plan.js';
import { type Datatype, datatypeOfConfigValue, elementCount, elementSize } from '../../protocol/datatype.js';
import { InstanceKind, type ModelConfig } from '../../protocol/proto/model-config.js';
import type { Tensor } from '../../protocol/tensor.js';

/** One state: an output of the model that is an input of the sequence's next request. */
export interface StatePlan {
  readonly inputName: string;
  readonly outputName: string;
  /** What a sequence begins with, under the input's name; shared, as receivers do not write to tensors. */
  readonly initial: Tensor;
}

/** The states of a model. */
export interface StatesPlan {
  readonly states: readonly StatePlan[];
  /** Why states cannot be made: said in the log at each START, and requests then run without them. */
  readonly refusal: string | undefined;
}

/**
 * Compiles the states; undefined for a model without any. `data` is what their files hold, by input name; the others
 * begin with zeros (Triton leaves a state without `initial_state` as the memory was).
 */
export function compileStates(
  config: ModelConfig,
  data: ReadonlyMap<string, Uint8Array>,
  log: Log,
): StatesPlan | undefined {
  const states: StatePlan[] = [];
  let refusal: string | undefined;
  for (const state of config.sequence_batching?.state ?? []) {
    const { input_name: inputName, output_name: outputName } = state;
    const twice = states.find((other) => other.inputName === inputName || other.outputName === outputName);
    if (twice !== undefined) {
      const [field, name] = twice.inputName === inputName ? ['input_name', inputName] : ['output_name', outputName];
      log.warning(
        `Detected duplicate '${field}' in the state configuration: '${name}.' This state configuration will be ignored.`,
      );
      continue;
    }
    if (state.use_growable_memory)
      refusal ??= whyNotGrowable(config, inputName, state.use_same_buffer_for_input_output);
    const datatype = datatypeOfConfigValue(state.data_type) ?? 'BYTES';
    const shape = state.dims.map((dim) => (dim === -1n ? 1 : Number(dim)));
    const initial: Tensor = {
      name: inputName,
      datatype,
      shape: config.max_batch_size > 0 ? [1, ...shape] : shape,
      data: initialBytes(datatype, elementCount(shape), data.get(inputName)),
    };
    states.push({ inputName, outputName, initial });
  }
  return states.length === 0 ? undefined : { states, refusal };
}

/** The plan that batchers compare requests with: states of one batch must have equal shapes, like variable inputs. */
export function planWithStates(plan: ModelPlan, { states }: StatesPlan): ModelPlan {
  const inputsByName = new Map(plan.inputsByName);
  for (const { initial } of states) {
    const input: InputPlan = {
      name: initial.name,
      datatype: initial.datatype,
      elementSize: elementSize(initial.datatype),
      dims: initial.shape,
      reshape: undefined,
      optional: false,
      ragged: false,
      shapeTensor: false,
      equalInBatch: true,
    };
    inputsByName.set(input.name, input);
  }
  return { ...plan, inputsByName, comparesInBatch: true };
}

function initialBytes(datatype: Datatype, elements: number, data: Uint8Array | undefined): Uint8Array {
  if (datatype === 'BYTES') return data ?? new Uint8Array(4 * elements);
  const size = elements * elementSize(datatype);
  // A copy: a file's bytes need not begin at a multiple of the element size. What the file has too much is left.
  return data === undefined ? new Uint8Array(size) : Uint8Array.from(data.subarray(0, size));
}

function whyNotGrowable(config: ModelConfig, input: string, sameBuffer: boolean): string | undefined {
  if (!sameBuffer) {
    return `In order to 'use_growable_memory', you must also enable 'use_single_buffer' for state input name '${input}'.`;
  }
  const onGpu = config.instance_group.every(({ kind }) => kind === InstanceKind.values.KIND_GPU);
  if (config.instance_group.length > 0 && onGpu) return undefined;
  return (
    "'use_growable_memory' can only work with KIND_GPU model instances right now. Please either change the instance " +
    `type to KIND_GPU or set 'use_growable_memory' to false for state input '${input}'.`
  );
}
