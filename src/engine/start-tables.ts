/** The tables that the server prints when it has started. */
import type { BackendRegistry } from '../backends/registry.js';
import type { ModelRecord } from './models/table/model-record.js';
import { backendSettingsJson } from './models/version/backend-settings.js';
import type { EngineOptions } from './options/engine-options.js';

/** One row of the start-up table of models. */
export interface ModelRow {
  readonly name: string;
  /** `-` for a model without any version. */
  readonly version: string;
  /** `READY`, `UNAVAILABLE: <reason>`, `Not loaded: No model version was found`. */
  readonly status: string;
}

/** One row of the start-up table of backends. */
export interface BackendRow {
  readonly name: string;
  readonly path: string;
  /** Configuration as JSON. */
  readonly config: string;
}

/** A row for each version of the models, and for each model without any. */
export function modelRows(records: readonly ModelRecord[]): ModelRow[] {
  return records.flatMap(({ id: name, versions }): ModelRow[] => {
    if (versions.length === 0) return [{ name, version: '-', status: 'Not loaded: No model version was found' }];
    return versions.map(({ version, state, reason }) => ({
      name,
      version,
      status: reason === '' ? state : `${state}: ${reason}`,
    }));
  });
}

/** A row for each backend that a model asked for, by name. */
export function backendRows(registry: BackendRegistry, options: EngineOptions): BackendRow[] {
  return [...registry.loaded]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { traits }]) => ({ name, path: traits.codeFile, config: backendSettingsJson(options, name) }));
}
