/**
 * The second stage of a model's way into the server, around the backend's own auto-completion. The server and the
 * validator run this same code.
 */

import { nearestName } from '../../base/nearest-name.js';
import type { KnownBackends } from '../../contract/backend-traits.js';
import type { Fault } from '../../contract/fault.js';
import {
  ENSEMBLE_PLATFORM,
  type InstanceGroupHost,
  normalizeInstanceGroups,
  normalizeModelConfig,
} from '../../modelconfig/complete/normalize.js';
import {
  validateForBackend,
  validateInstanceGroups,
  validateModelConfig,
  validateModelIO,
} from '../../modelconfig/rules/validate.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import { joinPath, kindOf } from '../files/local.js';
import { staysInside } from './stays-inside.js';

/** What a machine and a program offer to models. */
export interface LoadHost extends InstanceGroupHost {
  /** True for backends that can be used. */
  hasBackend(name: string): boolean;
  /** True for backends whose models may leave inputs out of a request. */
  supportsOptionalInputs(backend: string): boolean;
  /** --backend-directory, which error texts name. */
  readonly backendDirectory: string;
}

/** Optional inputs of a model whose backend wants all of them. */
export function optionalInputFaults(config: ModelConfig, supported: boolean): Fault[] {
  if (supported || config.platform === ENSEMBLE_PLATFORM) return [];
  return config.input.flatMap(({ name, optional }, i): Fault[] => {
    if (!optional) return [];
    const message = `'optional' is set to true for input '${name}' while the backend model doesn't support optional input`;
    return [{ rule: 'optional-input', code: 'INVALID_ARG', message, path: ['input', i, 'optional'] }];
  });
}

/** Where Triton looks for backends. */
export const DEFAULT_BACKEND_DIRECTORY = '/opt/tritonserver/backends';

/** A configuration with what is wrong about it. */
export interface CheckedConfig {
  readonly config: ModelConfig;
  readonly faults: readonly Fault[];
}

/**
 * Before the backend sees a version: its library exists, instance groups are filled in and possible. Ensembles pass as
 * they are.
 */
export async function prepareLoad(
  config: ModelConfig,
  modelDirectory: string,
  version: string,
  host: LoadHost,
): Promise<CheckedConfig> {
  const faults = await backendLibraryFaults(config, modelDirectory, version, host);
  const prepared = prepareInstances(config, host);
  return { config: prepared.config, faults: [...faults, ...prepared.faults] };
}

/** Instance groups filled in and checked, and what the backend's own reader refuses. Ensembles pass as they are. */
export function prepareInstances(config: ModelConfig, host: InstanceGroupHost): CheckedConfig {
  if (config.platform === ENSEMBLE_PLATFORM) return { config, faults: [] };
  const completed = normalizeInstanceGroups(config, host);
  return { config: completed, faults: [...validateInstanceGroups(completed, host), ...validateForBackend(completed)] };
}

/**
 * After auto-completion: defaults again, then all static checks. `provided` = there was a configuration, or the
 * backend made one.
 */
export function finishConfig(config: ModelConfig, provided: boolean, backends: KnownBackends): CheckedConfig {
  const completed = normalizeModelConfig(config);
  const faults: Fault[] = [];
  if (!provided) {
    faults.push({
      rule: 'config-missing',
      code: 'NOT_FOUND',
      message: `model configuration is not provided for model '${config.name}'`,
      path: [],
      remedy: "Write a config.pbtxt: this backend does not complete configurations from the model's file.",
    });
  }
  faults.push(...validateModelConfig(completed, backends), ...validateModelIO(completed, backends));
  return { config: completed, faults };
}

/** `Did you mean ...` for a backend that is there under another name. */
function meantBackend(name: string, host: Pick<LoadHost, 'backends' | 'hasBackend'>): string | undefined {
  const named = host.backends.filter(({ aliases }) => aliases !== undefined);
  const alias = named.find(({ aliases }) => aliases?.includes(name.toLowerCase()));
  const meant =
    alias?.name ??
    nearestName(
      name,
      named.map((backend) => backend.name),
    );
  return meant !== undefined && host.hasBackend(meant) ? `Did you mean '${meant}'?` : undefined;
}

/** The search for the backend's library: only what is built in can be found. Nothing for models without a backend. */
export async function backendLibraryFaults(
  config: ModelConfig,
  modelDirectory: string,
  version: string,
  host: Pick<LoadHost, 'backends' | 'hasBackend' | 'backendDirectory'>,
): Promise<Fault[]> {
  const { backend, runtime, name } = config;
  if (config.platform === ENSEMBLE_PLATFORM || backend === '') return [];
  const fault = (path: string, message: string, remedy: string): Fault[] => [
    { rule: 'backend-library', code: 'INVALID_ARG', message, path: [path], remedy },
  ];
  if (host.hasBackend(backend) && (runtime === '' || runtime === `libtriton_${backend}.so`)) return [];
  if (runtime === '') {
    return fault(
      'backend',
      `unable to find backend library for backend '${backend}', try specifying runtime on the model configuration.`,
      meantBackend(backend, host) ??
        `This program has no backend '${backend}'; convert the model to ONNX, or serve it elsewhere.`,
    );
  }
  const folders = [joinPath(modelDirectory, version), modelDirectory, joinPath(host.backendDirectory, backend)];
  for (const folder of folders) {
    const library = joinPath(folder, runtime);
    if ((await kindOf(library)) === undefined) continue;
    if (!staysInside(runtime)) {
      const text =
        `backend library name '${runtime}' escapes backend directory '${folder}', for model '${name}', ` +
        'check model config runtime field';
      return fault('runtime', text, "Remove 'runtime' and name a backend that is built in.");
    }
    const text = `unable to load backend library '${library}' for model '${name}': native backends are not supported`;
    return fault('runtime', text, "Remove 'runtime' and name a backend that is built in.");
  }
  return fault(
    'runtime',
    `unable to find backend library '${runtime}' for model '${name}', searched: ${folders.map((folder) => `'${folder}' `).join('')}`,
    "Remove 'runtime', or correct it.",
  );
}
