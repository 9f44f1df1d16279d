/** An ensemble's configuration as the request path sees it, compiled once when the ensemble is loaded. */
import type { ModelConfig } from '../../protocol/proto/model-config.js';

/** One step: the model it runs and how its tensors are called in the ensemble. */
export interface StepPlan {
  readonly index: number;
  readonly model: string;
  /** Version number in decimal; '' = the latest. */
  readonly version: string;
  readonly inputs: readonly TensorMap[];
  readonly outputs: readonly TensorMap[];
  /** Names of `outputs`: what the model is asked for. */
  readonly outputNames: readonly string[];
  /** Different tensors among `inputs`: the step runs when all of them are there. */
  readonly inputTensors: number;
}

/** A tensor of a model, and the index of the ensemble's tensor that it is. */
export interface TensorMap {
  readonly name: string;
  readonly tensor: number;
}

/** One output of the ensemble. */
export interface EnsembleOutput extends TensorMap {
  /** Dimensions that the configuration promises, without a batch dimension (`reshape` if given). */
  readonly dims: readonly number[];
}

/** The steps of an ensemble and the tensors between them; tensors are numbered. */
export interface EnsemblePlan {
  readonly name: string;
  readonly batches: boolean;
  readonly steps: readonly StepPlan[];
  readonly inputs: readonly TensorMap[];
  readonly outputs: readonly EnsembleOutput[];
  /** By tensor: the steps that take it. */
  readonly consumers: readonly (readonly StepPlan[])[];
  /** By tensor: the step that makes it; undefined for the ensemble's inputs. */
  readonly producers: readonly (StepPlan | undefined)[];
}

/** Compiles a configuration whose graph has been checked. */
export function compileEnsemblePlan(config: ModelConfig): EnsemblePlan {
  const numbers = new Map<string, number>();
  const number = (tensor: string): number => {
    const known = numbers.get(tensor) ?? numbers.size;
    numbers.set(tensor, known);
    return known;
  };
  const inputs = config.input.map(({ name }) => ({ name, tensor: number(name) }));
  const outputs = config.output.map((output) => ({
    name: output.name,
    tensor: number(output.name),
    dims: (output.reshape?.shape ?? output.dims).map(Number),
  }));
  const steps = (config.ensemble_scheduling?.step ?? []).map((step, index): StepPlan => {
    const stepInputs = [...step.input_map].map(([name, tensor]) => ({ name, tensor: number(tensor) }));
    const stepOutputs = [...step.output_map].map(([name, tensor]) => ({ name, tensor: number(tensor) }));
    return {
      index,
      model: step.model_name,
      version: step.model_version === -1n ? '' : String(step.model_version),
      inputs: stepInputs,
      outputs: stepOutputs,
      outputNames: stepOutputs.map(({ name }) => name),
      inputTensors: new Set(stepInputs.map(({ tensor }) => tensor)).size,
    };
  });
  // One walk over the steps: there may be thousands of both steps and tensors.
  const consumers: StepPlan[][] = Array.from(numbers, () => []);
  const producers: (StepPlan | undefined)[] = Array.from(numbers, () => undefined);
  for (const step of steps) {
    for (const tensor of new Set(step.inputs.map((input) => input.tensor))) consumers[tensor]!.push(step);
    for (const { tensor } of step.outputs) producers[tensor] ??= step;
  }
  return {
    name: config.name,
    batches: config.max_batch_size > 0,
    steps,
    inputs,
    outputs,
    consumers,
    producers,
  };
}

/** The outputs of these names, and which steps (by index) have to run for them: those that lead to one of them. */
export function selectOutputs(
  plan: EnsemblePlan,
  names: readonly string[],
): { readonly outputs: readonly EnsembleOutput[]; readonly steps: readonly boolean[] } {
  const outputs = plan.outputs.filter(({ name }) => names.includes(name));
  const steps = plan.steps.map(() => false);
  const open = outputs.map(({ tensor }) => tensor);
  for (const tensor of open) {
    const producer = plan.producers[tensor];
    if (producer === undefined || steps[producer.index]) continue;
    steps[producer.index] = true;
    for (const input of producer.inputs) open.push(input.tensor);
  }
  return { outputs, steps };
}
