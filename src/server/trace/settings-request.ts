/** What both protocols do with a request about trace settings. */

import { invalidArg } from '../../base/error.js';
import type { InferenceEngine } from '../../contract/engine.js';

/** Settings that are numbers; they come as strings. */
export const NUMBER_SETTINGS = ['trace_rate', 'trace_count', 'log_frequency'] as const;

/** Refuses settings of a model that requests cannot be sent to. `name` '' = the global settings. */
export function checkModelOfSettings(engine: InferenceEngine, name: string): void {
  if (name === '') return;
  try {
    engine.model(name, '');
  } catch {
    throw invalidArg(`Request for unknown model : ${name}`);
  }
}
