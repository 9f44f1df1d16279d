import { invalidArg, TritonError } from '../base/error.js';
import type { ModelManager } from './models/model-manager.js';
import type { EngineOptions } from './options/engine-options.js';

const NOT_ALL = 'failed to load all models';

/**
 * Loads what the options say: everything, or in explicit mode the models that are named. Returns what went wrong, which ends
 * the server where --exit-on-error wants that. Never rejects.
 */
export async function loadAtStart(
  manager: ModelManager,
  { modelControlMode, loadModels: names }: EngineOptions,
): Promise<TritonError | undefined> {
  if (modelControlMode !== 'explicit' || (names.length === 1 && names[0] === '*')) {
    return (await manager.loadAll()) ? undefined : new TritonError('INTERNAL', NOT_ALL);
  }
  if (names.includes('*')) {
    return invalidArg("Wildcard model name '*' must be the ONLY startup model if specified at all.");
  }
  try {
    await manager.load([...new Set(names)].sort());
    return undefined;
  } catch (reason) {
    const error = TritonError.from(reason);
    return error.code === 'INVALID_ARG' ? error : new TritonError('INTERNAL', NOT_ALL);
  }
}
