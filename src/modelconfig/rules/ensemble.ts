/** Rules of an ensemble that need no other model. */

import type { Faults } from '../../contract/fault.js';
import type { ModelConfig, ModelEnsembling } from '../../protocol/proto/model-config.js';
import { ENSEMBLE_PLATFORM } from '../complete/normalize.js';

/** A tensor of the ensemble with the tensors that it is made from and those made from it. */
interface TensorNode {
  readonly name: string;
  ready: boolean;
  written: boolean;
  readonly previous: Set<TensorNode>;
  readonly next: Set<TensorNode>;
}

/** Checks `ensemble_scheduling`, and that an ensemble has one. */
export function checkEnsemble(config: ModelConfig, faults: Faults): void {
  const { name } = config;
  const isEnsemble = config.platform === ENSEMBLE_PLATFORM;
  const scheduling = config.ensemble_scheduling;
  if (scheduling === undefined) {
    if (isEnsemble) {
      faults.add(
        'ensemble-scheduling-missing',
        ['platform'],
        `ensemble scheduling must be set for ensemble ${name} whose platform is ensemble`,
      );
    }
    return;
  }
  const add = (path: string, message: string, remedy?: string) => faults.add('ensemble-field', [path], message, remedy);
  if (!isEnsemble) {
    const text = `ensemble scheduling cannot be set for model '${name}' whose platform is not ensemble`;
    add('ensemble_scheduling', text, 'Write platform: "ensemble" and no backend.');
  }
  if (config.instance_group.length > 0) {
    add('instance_group', `instance group should not be specified for ensemble '${name}'`, "Remove 'instance_group'.");
  }
  if (config.optimization !== undefined) {
    add('optimization', `optimization should not be specified for ensemble '${name}'`, "Remove 'optimization'.");
  }
  if (config.model_warmup.length > 0) {
    add('model_warmup', `model_warmup can not be specified for ensemble '${name}'`, "Remove 'model_warmup'.");
  }
  if (scheduling.step.length === 0) {
    add('ensemble_scheduling', `must specify 'step' for ensemble '${name}'`);
    return;
  }
  const tensors = buildGraph(config, scheduling, faults);
  if (tensors !== undefined) checkDataFlow(config, tensors, faults);
}

/** Links the tensors of all steps; undefined when a step is incomplete. */
function buildGraph(
  config: ModelConfig,
  scheduling: ModelEnsembling,
  faults: Faults,
): Map<string, TensorNode> | undefined {
  const tensors = new Map<string, TensorNode>();
  let whole = true;
  const node = (name: string): TensorNode => {
    let found = tensors.get(name);
    if (found === undefined) {
      found = { name, ready: false, written: false, previous: new Set(), next: new Set() };
      tensors.set(name, found);
    }
    return found;
  };
  for (const [i, step] of scheduling.step.entries()) {
    const path = ['ensemble_scheduling', 'step', i];
    const missing = [
      ['model_name', step.model_name === ''],
      ['input_map', step.input_map.size === 0],
      ['output_map', step.output_map.size === 0],
    ] as const;
    for (const [field, isMissing] of missing) {
      if (!isMissing) continue;
      faults.add('ensemble-step', path, `must specify '${field}' in step ${i} of ensemble '${config.name}'`);
      whole = false;
    }
    const inputs = [...step.input_map.values()].map(node);
    for (const [key, tensor] of step.output_map) {
      const output = node(tensor);
      if (output.written) {
        faults.add(
          'ensemble-tensor-written-twice',
          [...path, 'output_map', key],
          `ensemble tensor '${tensor}' can appear in an output map only once for ensemble '${config.name}' step ${i}`,
        );
        whole = false;
      }
      output.written = true;
      for (const input of inputs) {
        input.next.add(output);
        output.previous.add(input);
      }
    }
  }
  return whole ? tensors : undefined;
}

function checkDataFlow(config: ModelConfig, tensors: ReadonlyMap<string, TensorNode>, faults: Faults): void {
  const queue: TensorNode[] = [];
  let connected = true;
  for (const [i, { name }] of config.input.entries()) {
    const tensor = tensors.get(name);
    if (tensor === undefined) {
      const text = `ensemble input '${name}' for ensemble ${config.name}' is not used`;
      faults.add('ensemble-input-unused', ['input', i, 'name'], text, "Use it in a step's input_map, or remove it.");
      connected = false;
      continue;
    }
    tensor.ready = true;
    queue.push(tensor);
  }
  for (const tensor of queue) {
    for (const next of tensor.next) {
      if (next.ready || ![...next.previous].every(({ ready }) => ready)) continue;
      next.ready = true;
      queue.push(next);
    }
  }
  for (const [i, { name }] of config.output.entries()) {
    const tensor = tensors.get(name);
    if (tensor?.ready) continue;
    const text =
      tensor === undefined
        ? `ensemble output '${name}' for ensemble ${config.name}' is not used`
        : `output '${name}' for ensemble '${config.name}' is not written${originOf(tensor)}`;
    faults.add('ensemble-output-unwritten', ['output', i, 'name'], text);
    connected = false;
  }
  if (!connected) return;
  const outputs = new Set(config.output.map(({ name }) => name));
  for (const tensor of tensors.values()) {
    if (outputs.has(tensor.name) || (tensor.ready && tensor.next.size > 0)) continue;
    const text = `ensemble tensor '${tensor.name}' is unused in ensemble '${config.name}'`;
    faults.add('ensemble-tensor-unused', ['ensemble_scheduling'], text);
  }
}

/** Walks back over tensors that are not ready to the one where the chain breaks. */
function originOf(tensor: TensorNode): string {
  const seen = new Set<TensorNode>();
  let current = tensor;
  for (;;) {
    seen.add(current);
    const back = [...current.previous].find((previous) => !previous.ready && !seen.has(previous));
    if (back === undefined) break;
    current = back;
  }
  if (current === tensor) return '';
  return `: at least one of its depending tensors, '${current.name}', is not connected`;
}
