import type { ServedEngine } from '../context/served-engine.js';
import type { ServerMetadata } from '../context/server-metadata.js';
import type { ServerLog } from '../log/server-log.js';
import type { ServerOptions } from '../options/server-options.js';

/** Agents, backends and models: shown when an engine could be made. */
export function logEngineTables(log: ServerLog, engine: ServedEngine): void {
  log.table(['Repository Agent', 'Path'], []);
  const backends = engine.backendRows().map(({ name, path, config }) => [name, path, config]);
  log.table(['Backend', 'Path', 'Config'], backends);
  const models = engine.modelRows().map(({ name, version, status }) => [name, version, status]);
  log.table(['Model', 'Version', 'Status'], models);
}

/** The options in force. */
export function logOptionTable(log: ServerLog, options: ServerOptions, metadata: ServerMetadata): void {
  const { general, models, backends, devices } = options;
  const bit = (value: boolean): string => (value ? '1' : '0');
  const resources = devices.rateLimitResources
    .map(({ name, count, device }) => `{"name":"${name}", "count":${count} "device":${device}}`)
    .sort();
  log.table(
    ['Option', 'Value'],
    [
      ['server_id', metadata.name],
      ['server_version', metadata.version],
      ['server_extensions', metadata.extensions.join(' ')],
      ...models.repositories.map((path, index) => [`model_repository_path[${index}]`, path]),
      ['model_control_mode', `MODE_${models.controlMode.toUpperCase()}`],
      ...[...models.loadModels].sort().map((name, index) => [`startup_models_${index}`, name]),
      ['strict_model_config', bit(!models.autoComplete)],
      ['model_config_name', models.configName],
      ['rate_limit', devices.rateLimit ? 'EXEC_COUNT' : 'OFF'],
      ...resources.map((text, index) => [`rate_limit_resource[${index}]`, text]),
      ['pinned_memory_pool_byte_size', String(devices.pinnedMemoryPoolBytes)],
      ['min_supported_compute_capability', devices.minComputeCapability.toFixed(1)],
      ['strict_readiness', bit(models.strictReadiness)],
      ['exit_timeout', String(general.exitTimeoutSeconds)],
      ['cache_enabled', bit(backends.cacheConfig.length > 0)],
    ],
  );
}

/** Says what was wrong with options that were taken all the same, and which of them change nothing here. */
export function logOptionNotes(options: ServerOptions, log: ServerLog): void {
  for (const fault of options.metrics.quantileFaults) log.error(fault);
  for (const note of options.notes) log.info(note);
}
