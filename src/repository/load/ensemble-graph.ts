/** Rules of an ensemble and the models it is composed of: its graph, and whether tensors fit each other. */

import { nearestName } from '../../base/nearest-name.js';
import { type Fault, Faults } from '../../contract/fault.js';
import { compareShapes } from '../../modelconfig/complete/compare-shapes.js';
import { ENSEMBLE_PLATFORM } from '../../modelconfig/complete/normalize.js';
import { formatShape } from '../../protocol/datatype.js';
import { DataType, type ModelConfig } from '../../protocol/proto/model-config.js';
import { enumName } from '../../protocol/proto/schema.js';

/** A model as ensembles see it. */
export interface Member {
  /** Completed configuration of the latest version. */
  readonly config: ModelConfig;
  /** Versions that are loaded (or would be), as text. */
  readonly versions: readonly string[];
  /** False when the configuration is not what would be served, so that nothing is compared with it. */
  readonly judged: boolean;
  /** Why the model cannot be used at all, e.g. an invalid ensemble. */
  readonly invalid?: string;
  /** Why no version is loaded, as the lifecycle words it. */
  readonly loadError?: string;
}

/** Looks up a model by name; undefined when it is not there, ambiguous, or could not be polled. */
export type FindMember = (name: string) => Member | undefined;

interface EnsembleTensor {
  readonly model: string;
  readonly type: number;
  readonly dims: readonly bigint[];
  readonly batching: boolean;
}

type Step = NonNullable<ModelConfig['ensemble_scheduling']>['step'][number];

const MEMBER_FAILED = 'ensemble-member-failed';

/**
 * All faults between an ensemble and the other models; a server reports the first. `known`: names of all models,
 * for suggestions.
 */
export function checkEnsembleGraph(ensemble: ModelConfig, find: FindMember, known: Iterable<string> = []): Fault[] {
  const faults = new Faults();
  const steps = ensemble.ensemble_scheduling?.step ?? [];
  for (const [i, { model_name: name }] of steps.entries()) {
    if (find(name) !== undefined) continue;
    const near = nearestName(name, known);
    faults.add(
      'ensemble-member-missing',
      ['ensemble_scheduling', 'step', i, 'model_name'],
      `ensemble ${ensemble.name} contains models that are not available or ambiguous: ${name}`,
      near === undefined
        ? `Put a model '${name}' that can be loaded into the repository, once.`
        : `Did you mean '${near}'? Else put a model '${name}' that can be loaded into the repository, once.`,
    );
  }
  if (faults.list.length > 0) return faults.list;
  const last = findCycle(ensemble, find);
  if (last !== undefined) {
    const { name } = ensemble;
    const text = `circular dependency between ensembles: ${name} -> ... -> ${last} -> ${name}`;
    faults.add('ensemble-cycle', ['ensemble_scheduling'], text);
    return faults.list;
  }
  for (const [i, step] of steps.entries()) checkMember(ensemble, i, find(step.model_name) as Member, faults);
  if (steps.every(({ model_name }) => find(model_name)?.judged)) {
    checkConsistency(ensemble, steps, find, faults);
    if (faults.list.length === 0 || faults.list.every(({ rule }) => rule === MEMBER_FAILED)) {
      checkDecoupled(ensemble, steps, find, faults);
    }
  }
  return faults.list;
}

/** Name of the ensemble that leads back to this one, undefined without a cycle. */
function findCycle(ensemble: ModelConfig, find: FindMember): string | undefined {
  const seen = new Set<string>();
  const visit = (config: ModelConfig): string | undefined => {
    for (const { model_name: name } of config.ensemble_scheduling?.step ?? []) {
      if (name === ensemble.name) return config.name;
      const member = find(name);
      if (member === undefined || seen.has(name) || member.config.platform !== ENSEMBLE_PLATFORM) continue;
      seen.add(name);
      const found = visit(member.config);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return visit(ensemble);
}

function checkMember(ensemble: ModelConfig, index: number, member: Member, faults: Faults): void {
  const path = ['ensemble_scheduling', 'step', index];
  const step = ensemble.ensemble_scheduling?.step[index] as Step;
  const name = step.model_name;
  const start = `ensemble '${ensemble.name}' depends on '${name}'`;
  if (member.invalid !== undefined) {
    const text = `${start} which is not valid. Model '${name}' failed with error: ${member.invalid}`;
    faults.add(MEMBER_FAILED, [...path, 'model_name'], text);
  } else if (member.versions.length === 0) {
    const reason =
      member.loadError === undefined ? '' : ` Model '${name}' loading failed with error: ${member.loadError}`;
    faults.add(MEMBER_FAILED, [...path, 'model_name'], `${start} which has no loaded version.${reason}`);
  } else if (step.model_version !== -1n && !member.versions.includes(String(step.model_version))) {
    faults.add(
      'ensemble-member-version',
      [...path, 'model_version'],
      `${start} whose required version ${step.model_version} is not loaded.`,
      'Write model_version: -1 for the latest; leaving it out asks for version 0.',
    );
  }
}

function checkConsistency(ensemble: ModelConfig, steps: readonly Step[], find: FindMember, faults: Faults): void {
  const tensors = new Map<string, EnsembleTensor>();
  for (const tensor of [...ensemble.input, ...ensemble.output]) {
    tensors.set(tensor.name, {
      model: ensemble.name,
      type: tensor.data_type,
      dims: tensor.reshape?.shape ?? tensor.dims,
      batching: ensemble.max_batch_size > 0,
    });
  }
  for (const [i, step] of steps.entries()) {
    const { config } = find(step.model_name) as Member;
    const path = ['ensemble_scheduling', 'step', i];
    if (config.max_batch_size !== 0 && config.max_batch_size < ensemble.max_batch_size) {
      faults.add(
        'ensemble-batch-size',
        ['max_batch_size'],
        `ensemble ${ensemble.name} allows maximum batch size ${ensemble.max_batch_size}, but it contains model ${config.name} which only allows maximum batch size to be ${config.max_batch_size}`,
      );
    }
    checkStep(step, config, tensors, (map, key, message, { remedy, details } = {}) =>
      faults.list.push({
        rule: map === 'input_map' ? 'ensemble-input-map' : 'ensemble-output-map',
        code: 'INVALID_ARG',
        message: `in ensemble ${ensemble.name}, ${message}`,
        path: key === undefined ? path : [...path, map, key],
        ...(remedy === undefined ? {} : { remedy }),
        ...(details === undefined ? {} : { details }),
      }),
    );
  }
}

type AddStepFault = (map: 'input_map' | 'output_map', key: string | undefined, message: string, help?: Help) => void;

/** What helps to correct a fault. */
interface Help {
  readonly remedy?: string | undefined;
  readonly details?: readonly string[] | undefined;
}

function checkStep(step: Step, config: ModelConfig, tensors: Map<string, EnsembleTensor>, add: AddStepFault): void {
  for (const [input, tensor] of step.input_map) {
    if (config.input.some(({ name }) => name === input)) continue;
    const text = `ensemble tensor ${tensor} is mapping to non-existing input ${input} in model ${config.name}`;
    add('input_map', input, text, { remedy: namesRemedy('inputs', input, config.input) });
  }
  for (const input of config.input) {
    const tensor = step.input_map.get(input.name);
    if (tensor !== undefined) {
      join(tensors, tensor, tensorOf(config, input), (...fault) => add('input_map', input.name, ...fault));
    } else if (!input.optional) {
      const text = `input ${input.name} in model ${config.name} is not mapped to any ensemble tensors`;
      const remedy = `Add input_map { key: "${input.name}" value: "<ensemble tensor>" } to the step.`;
      add('input_map', undefined, text, { remedy });
    }
  }
  for (const [output, tensor] of step.output_map) {
    const found = config.output.find(({ name }) => name === output);
    if (found === undefined) {
      const text = `ensemble tensor ${tensor} is mapped from non-existing output ${output} in model ${config.name}`;
      add('output_map', output, text, { remedy: namesRemedy('outputs', output, config.output) });
    } else {
      join(tensors, tensor, tensorOf(config, found), (...fault) => add('output_map', output, ...fault));
    }
  }
}

function namesRemedy(what: string, name: string, tensors: readonly { readonly name: string }[]): string {
  const names = tensors.map((tensor) => tensor.name);
  const near = nearestName(name, names);
  return `${near === undefined ? '' : `Did you mean '${near}'? `}The model's ${what} are: ${names.join(', ')}.`;
}

/** A tensor of a member as its configuration has it. */
function tensorOf(
  { name, max_batch_size }: ModelConfig,
  tensor: { readonly data_type: number; readonly dims: readonly bigint[] },
): EnsembleTensor {
  return { model: name, type: tensor.data_type, dims: tensor.dims, batching: max_batch_size > 0 };
}

/** Enters a model's tensor under its ensemble name, or compares it with what defined that name first. */
function join(
  tensors: Map<string, EnsembleTensor>,
  name: string,
  mine: EnsembleTensor,
  add: (message: string, help?: Help) => void,
): void {
  const first = tensors.get(name);
  if (first === undefined) {
    tensors.set(name, mine);
    return;
  }
  const inferred = (what: string, a: string, b: string): string =>
    `ensemble tensor ${name}: inconsistent ${what}: ${a} is inferred from model ${first.model} while ${b} is inferred from model ${mine.model}`;
  if (first.type !== mine.type) {
    add(inferred('data type', typeName(first.type), typeName(mine.type)));
  } else if (!matches(first.dims, mine.dims) && !matches(fullShape(first), fullShape(mine))) {
    const [a, b] = [first, mine].map((one) => ({ name: `model ${one.model}`, dims: fullShape(one) })) as [Side, Side];
    add(inferred('shape', formatShape(a.dims), formatShape(b.dims)), {
      remedy: 'Both models must agree on the tensor, -1 standing for any size: fix the one that is wrong.',
      details: compareShapes(a, b, (x, y) => x === y || x === -1n || y === -1n),
    });
  }
}

type Side = { readonly name: string; readonly dims: readonly bigint[] };

/** An ensemble is decoupled when any of its members is, whatever its own configuration says. */
export function isDecoupled(name: string, find: FindMember, seen: ReadonlySet<string> = new Set()): boolean {
  const config = find(name)?.config;
  if (config?.platform !== ENSEMBLE_PLATFORM) return config?.model_transaction_policy?.decoupled ?? false;
  if (seen.has(name)) return false; // a circle, which its own members report
  const inside = new Set([...seen, name]);
  return config.ensemble_scheduling?.step.some((step) => isDecoupled(step.model_name, find, inside)) ?? false;
}

function fullShape(tensor: EnsembleTensor): readonly bigint[] {
  return tensor.batching ? [-1n, ...tensor.dims] : tensor.dims;
}

function matches(a: readonly bigint[], b: readonly bigint[]): boolean {
  return a.length === b.length && a.every((dim, i) => dim === b[i] || dim === -1n || b[i] === -1n);
}

/**
 * Responses of one decoupled step cannot be matched with those of another, so no step and not the ensemble itself may
 * take tensors of two of them.
 */
function checkDecoupled(ensemble: ModelConfig, steps: readonly Step[], find: FindMember, faults: Faults): void {
  const origins = new Map<string, number>(ensemble.input.map(({ name }) => [name, 0]));
  const waiting = new Set(steps.keys());
  const mixed = (model: string, path: Fault['path']): void =>
    faults.add(
      'ensemble-decoupled',
      path,
      `in ensemble ${ensemble.name}, step of model '${model}' receives inputs originated from different decoupled models`,
    );
  for (let progress = true; progress; ) {
    progress = false;
    for (const i of waiting) {
      const step = steps[i] as Step;
      const inputs = [...step.input_map.values()];
      if (!inputs.every((tensor) => origins.has(tensor))) continue;
      waiting.delete(i);
      progress = true;
      const found = new Set(inputs.map((tensor) => origins.get(tensor) as number));
      if (found.size > 1) mixed(step.model_name, ['ensemble_scheduling', 'step', i]);
      const origin = isDecoupled(step.model_name, find) ? i + 1 : ([...found][0] ?? 0);
      for (const tensor of step.output_map.values()) origins.set(tensor, origin);
    }
  }
  const results = new Set(ensemble.output.map(({ name }) => origins.get(name) ?? 0));
  if (results.size > 1) mixed(ensemble.name, ['ensemble_scheduling']);
}

function typeName(type: number): string {
  return enumName(DataType, type) ?? '';
}
