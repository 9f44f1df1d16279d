import {
  DEFAULT_MAX_BATCH_SIZE,
  DEFAULT_MAX_BATCH_SIZE_KEY,
} from '../../../modelconfig/complete/default-max-batch-size.js';
import { DEFAULT_BACKEND_DIRECTORY } from '../../../repository/load/prepare-load.js';
import type { EngineOptions } from '../../options/engine-options.js';

/** Directory of the backends, as messages and tables show it. */
export function backendDirectory(options: EngineOptions): string {
  return options.backendDirectory ?? DEFAULT_BACKEND_DIRECTORY;
}

/** The settings that one backend gets: global ones, its own over them. */
export function backendSettings(options: EngineOptions, backend: string): ReadonlyMap<string, string> {
  const settings = new Map<string, string>();
  for (const scope of ['', backend]) {
    for (const setting of options.backendConfig) {
      if (setting.backend === scope) settings.set(setting.key, setting.value);
    }
  }
  return settings;
}

/** The backend's configuration as the start-up table prints it: keys sorted, the injected default last. */
export function backendSettingsJson(options: EngineOptions, backend: string): string {
  const settings = new Map(backendSettings(options, backend));
  settings.set('auto-complete-config', String(options.autoComplete));
  settings.set('backend-directory', backendDirectory(options));
  if (!settings.has('min-compute-capability')) settings.set('min-compute-capability', '0.000000');
  const keys = [...settings.keys()].sort();
  const entries = keys.map((key) => [key, settings.get(key)] as const);
  if (!settings.has(DEFAULT_MAX_BATCH_SIZE_KEY))
    entries.push([DEFAULT_MAX_BATCH_SIZE_KEY, String(DEFAULT_MAX_BATCH_SIZE)]);
  return JSON.stringify({ cmdline: Object.fromEntries(entries) });
}

/** The verbose record of each load that names the setting which has a default: whether it was given, and its value. */
export function defaultSettingText(settings: ReadonlyMap<string, string>): string {
  const given = settings.get(DEFAULT_MAX_BATCH_SIZE_KEY);
  if (given !== undefined) return `Found overwritten default setting: ${DEFAULT_MAX_BATCH_SIZE_KEY},${given}`;
  return `Adding default backend config setting: ${DEFAULT_MAX_BATCH_SIZE_KEY},${DEFAULT_MAX_BATCH_SIZE}`;
}
