import type { InferenceEngine } from '../../contract/engine.js';

/** True for a model that requests can be sent to: settings of others are refused. */
export function isKnownModel(engine: InferenceEngine, name: string): boolean {
  try {
    engine.model(name, '');
    return true;
  } catch {
    return false;
  }
}
