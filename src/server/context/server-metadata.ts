import type { ServerOptions } from '../options/server-options.js';

/** What a server says about itself; fixed at start-up. */
export interface ServerMetadata {
  readonly name: string;
  readonly version: string;
  readonly extensions: readonly string[];
}

/** Extensions in Triton's order. `generate` and `sequence(string_id)` exist but are not listed there either. */
export const EXTENSIONS: readonly string[] = [
  'classification',
  'sequence',
  'model_repository',
  'model_repository(unload_dependents)',
  'schedule_policy',
  'model_configuration',
  'system_shared_memory',
  'cuda_shared_memory',
  'binary_tensor_data',
  'parameters',
  'statistics',
  'trace',
  'logging',
];

/** Metadata of a server with these options (`--id`, `--server-version`). */
export function serverMetadata({ general: { id, version } }: Pick<ServerOptions, 'general'>): ServerMetadata {
  return { name: id, version, extensions: EXTENSIONS };
}
