import path from 'node:path';
import { TritonError } from '../../base/error.js';
import { requireRegularFile } from '../../base/files/read-regular-file.js';
import { systemText } from '../../base/files/system-text.js';
import type { InstanceSpec, ModelLocation } from '../../contract/backend.js';
import { configToJson } from '../../modelconfig/json/config-json.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import { joinPath, kindOf } from '../../repository/files/local.js';
import type { ProcessSettings } from './process/python-process.js';
import { LONGEST_FRAME } from './wire/wire.js';

/** Where the class of a model is. */
export interface ModelSource {
  readonly file: string;
  /** Name under which the file is imported. */
  readonly module: string;
  /** Directories behind which the runtime's stands on the search path. */
  readonly searchPath: readonly string[];
}

/**
 * Checks the parameters and finds the model's file: in the version's directory, or in that of a backend which is a Python
 * model itself. Rejects with Triton's messages.
 */
export async function findSource(
  location: ModelLocation,
  config: ModelConfig,
  backendFolder: string | undefined,
): Promise<ModelSource> {
  const force = config.parameters.get('FORCE_CPU_ONLY_INPUT_TENSORS')?.string_value ?? '';
  if (!['', 'yes', 'no'].includes(force)) {
    throw new TritonError('UNSUPPORTED', `Incorrect value for FORCE_CPU_ONLY_INPUT_TENSORS: ${force}'`);
  }
  if (backendFolder !== undefined) {
    const searchPath = [backendFolder, path.dirname(backendFolder)];
    return { file: joinPath(backendFolder, 'model.py'), module: 'model', searchPath };
  }
  const name = config.default_model_filename || 'model.py';
  const file = joinPath(location.versionDirectory, name);
  if ((await kindOf(file)) === undefined) {
    throw new TritonError('INTERNAL', `Python model file not found in '${file}'`);
  }
  requireModelFile(file);
  if (!name.endsWith('.py')) {
    throw new TritonError('INTERNAL', `Model name must end with '.py'. Model name is "${name}".`);
  }
  const module = `${location.version}.${path.basename(name, '.py')}`;
  return { file, module, searchPath: [location.versionDirectory, location.modelDirectory] };
}

/** The interpreter would open a pipe and wait for ever. */
function requireModelFile(file: string): void {
  try {
    requireRegularFile(file);
  } catch (reason) {
    throw new TritonError('INTERNAL', `Python model file '${file}' cannot be read: ${systemText(reason)}`);
  }
}

/** What the process of an instance is given. `frameLimit`: bytes of the longest frame. */
export function serveSettings(
  location: ModelLocation,
  config: ModelConfig,
  source: ModelSource,
  { spec, frameLimit }: { readonly spec: InstanceSpec; readonly frameLimit: number },
): ProcessSettings {
  const json = configToJson(config);
  return {
    ...commonSettings(location, config, source),
    mode: 'serve',
    max_frame_bytes: frameLimit,
    instance: spec.name,
    model_config: '',
    arguments: {
      model_config: json,
      model_instance_kind: spec.kind.replace('KIND_', ''),
      model_instance_name: spec.name,
      model_instance_device_id: String(spec.deviceId),
      model_repository: location.modelDirectory,
      model_version: location.version,
      model_name: location.name,
    },
  };
}

/** What the process that completes a configuration is given. */
export function completeSettings(
  location: ModelLocation,
  config: ModelConfig,
  source: ModelSource,
  frameLimit: number = LONGEST_FRAME,
): ProcessSettings {
  return {
    ...commonSettings(location, config, source),
    mode: 'complete',
    max_frame_bytes: frameLimit,
    instance: location.name,
    model_config: configToJson(config),
    arguments: {},
  };
}

function commonSettings(location: ModelLocation, config: ModelConfig, source: ModelSource) {
  return {
    decoupled: config.model_transaction_policy?.decoupled ?? false,
    model_name: location.name,
    version_directory: location.versionDirectory,
    model_file: source.file,
    module: source.module,
    search_path: source.searchPath,
  };
}
