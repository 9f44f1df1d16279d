/**
 * Checks of a completed configuration against the files beside it: labels, batching library, warm-up data, initial
 * states, in Triton's order.
 */
import path from 'node:path';
import { type Fault, faultOf } from '../../contract/fault.js';
import { ENSEMBLE_PLATFORM } from '../../modelconfig/complete/normalize.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import { joinPath, kindOf } from '../files/local.js';
import { initialStateFaults } from './initial-states.js';
import { readLabelFile } from './labels.js';
import { warmupFaults } from './warmup.js';

const BATCH_STRATEGY_PARAMETER = 'TRITON_BATCH_STRATEGY_PATH';

/** What is read before any instance is made: label files, a batching library. */
export async function initFileFaults(modelDirectory: string, config: ModelConfig): Promise<Fault[]> {
  const faults = await labelFaults(modelDirectory, config);
  if (config.platform !== ENSEMBLE_PLATFORM) faults.push(...(await batchStrategyFaults(modelDirectory, config)));
  return faults;
}

/** What is read for instances and the scheduler: warm-up data, initial states. */
export async function instanceFileFaults(modelDirectory: string, config: ModelConfig): Promise<Fault[]> {
  if (config.platform === ENSEMBLE_PLATFORM) return [];
  const isPassive = config.instance_group.length > 0 && config.instance_group.every(({ passive }) => passive);
  return [
    ...(isPassive ? [] : await warmupFaults(modelDirectory, config)),
    ...(await initialStateFaults(modelDirectory, config)),
  ];
}

async function labelFaults(modelDirectory: string, config: ModelConfig): Promise<Fault[]> {
  const faults: Fault[] = [];
  const seen = new Set<string>();
  for (const [i, { name, label_filename: file }] of config.output.entries()) {
    if (file === '') continue;
    const at = ['output', i, 'label_filename'];
    if (seen.has(name)) {
      faults.push({ rule: 'label-file', code: 'INTERNAL', message: `multiple label files for '${name}'`, path: at });
    }
    seen.add(name);
    try {
      await readLabelFile(modelDirectory, name, file, config.name);
    } catch (reason) {
      const remedy = "The name counts from the model's directory, not from the version's.";
      faults.push(faultOf(reason, 'label-file', at, remedy));
    }
  }
  return faults;
}

/** Label files that do not have as many lines as their output has elements; Triton takes them as they are. */
export async function labelDoubts(modelDirectory: string, config: ModelConfig): Promise<Fault[]> {
  const doubts: Fault[] = [];
  for (const [i, { name, label_filename: file, dims }] of config.output.entries()) {
    if (file === '' || dims.length === 0 || dims.some((dim) => dim < 1n)) continue;
    const labels = await readLabelFile(modelDirectory, name, file, config.name).catch(() => undefined);
    const elements = dims.reduce((product, dim) => product * dim, 1n);
    if (labels === undefined || BigInt(labels.length) === elements) continue;
    const least = Math.min(labels.length, Number(elements));
    const consequence =
      labels.length < elements ? `classes from ${least} on have no label` : `lines after ${least} are never used`;
    doubts.push({
      rule: 'label-count',
      code: 'INVALID_ARG',
      message: `label file '${file}' has ${labels.length} labels, but output '${name}' has ${elements} elements: ${consequence}`,
      path: ['output', i, 'label_filename'],
    });
  }
  return doubts;
}

async function batchStrategyFaults(modelDirectory: string, config: ModelConfig): Promise<Fault[]> {
  const given = config.parameters.get(BATCH_STRATEGY_PARAMETER)?.string_value;
  if (given === undefined || config.sequence_batching !== undefined) return [];
  const fault = (code: Fault['code'], message: string): Fault[] => [
    {
      rule: 'batch-strategy',
      code,
      message,
      path: ['parameters', BATCH_STRATEGY_PARAMETER],
      remedy: `Remove the parameter: native batching libraries are not supported.`,
    },
  ];
  const inside = path.relative(path.resolve(modelDirectory), path.resolve(modelDirectory, given));
  if (inside === '..' || inside.startsWith('../') || path.isAbsolute(given)) {
    return fault('INVALID_ARG', 'Batching library path escapes model repository.');
  }
  if ((await kindOf(joinPath(modelDirectory, given))) !== 'file') {
    return fault('NOT_FOUND', `Batching library path not found: ${given}`);
  }
  return fault('UNSUPPORTED', `Batching library ${given} cannot be loaded: native libraries are not supported`);
}
