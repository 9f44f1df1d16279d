/**
 * Triton's checks of a configuration, in Triton's order: the first fault is the one that a server reports, the
 * others are what it would report next.
 */

import type { KnownBackends } from '../../contract/backend-traits.js';
import { type Fault, Faults } from '../../contract/fault.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import { ENSEMBLE_PLATFORM, type InstanceGroupHost } from '../complete/normalize.js';
import { checkBatchIO, checkBatchIOForBackend } from './batch-io.js';
import { checkDynamicBatching } from './dynamic-batching.js';
import { isEnginePlatform } from './engine-platform.js';
import { checkEnsemble } from './ensemble.js';
import { checkInstanceGroups } from './instance-groups.js';
import { checkExtras, checkIdentity } from './model.js';
import { checkSequenceBatching } from './sequence-batching.js';
import { checkTensors } from './tensors.js';

/** Everything but inputs, outputs and instance groups. */
export function validateModelConfig(config: ModelConfig, backends: KnownBackends): Fault[] {
  const faults = new Faults();
  checkIdentity(config, backends, faults);
  checkDynamicBatching(config, faults);
  checkSequenceBatching(config, faults);
  checkEnsemble(config, faults);
  checkExtras(config, faults);
  return faults.list;
}

/** Inputs, outputs, batch inputs and outputs. */
export function validateModelIO(config: ModelConfig, backends: KnownBackends): Fault[] {
  const faults = new Faults();
  checkTensors(config, isEnginePlatform(backends, config.platform), faults);
  checkBatchIO(config, faults);
  return faults.list;
}

/** What a backend refuses on its own when it reads the configuration, before the checks above run again. */
export function validateForBackend(config: ModelConfig): Fault[] {
  const faults = new Faults();
  checkBatchIOForBackend(config, faults);
  return faults.list;
}

/** Normalised instance groups; nothing for ensembles. */
export function validateInstanceGroups(config: ModelConfig, host: InstanceGroupHost): Fault[] {
  const faults = new Faults();
  if (config.platform !== ENSEMBLE_PLATFORM) checkInstanceGroups(config, host, faults);
  return faults.list;
}
