import type { KnownBackends } from '../../contract/backend-traits.js';

/** True when models of a platform are compiled engines, for which alone some fields of configurations are meant. */
export function isEnginePlatform(backends: KnownBackends, platform: string): boolean {
  return backends.some(({ formats }) =>
    formats.some((format) => format.platform === platform && format.engine === true),
  );
}
