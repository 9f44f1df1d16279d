import path from 'node:path';
import { configToJson } from '../../modelconfig/json.js';
import { TritonError } from '../../protocol/error.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import { joinPath, kindOf } from '../../repository/local.js';
import type { InstanceSpec, ModelLocation } from '../backend.js';
import type { ProcessSettings } from './python-process.js';

/** Checks the parameters and the model's file. Rejects with the server's texts (spec: model repository, section 6.5). */
export async function checkModel(location: ModelLocation, config: ModelConfig): Promise<void> {
  const force = config.parameters.get('FORCE_CPU_ONLY_INPUT_TENSORS')?.string_value ?? '';
  if (!['', 'yes', 'no'].includes(force)) {
    throw new TritonError('UNSUPPORTED', `Incorrect value for FORCE_CPU_ONLY_INPUT_TENSORS: ${force}'`);
  }
  const name = fileName(config);
  const file = joinPath(location.versionDirectory, name);
  if ((await kindOf(file)) === undefined) {
    throw new TritonError('INTERNAL', `Python model file not found in '${file}'`);
  }
  if (!name.endsWith('.py')) {
    throw new TritonError('INTERNAL', `Model name must end with '.py'. Model name is "${name}".`);
  }
}

/** What the process of an instance is told. */
export function serveSettings(location: ModelLocation, config: ModelConfig, spec: InstanceSpec): ProcessSettings {
  const json = configToJson(config);
  return {
    ...commonSettings(location, config),
    mode: 'serve',
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

/** What the process that completes a configuration is told. */
export function completeSettings(location: ModelLocation, config: ModelConfig): ProcessSettings {
  return {
    ...commonSettings(location, config),
    mode: 'complete',
    instance: location.name,
    model_config: configToJson(config),
    arguments: {},
  };
}

function commonSettings(location: ModelLocation, config: ModelConfig) {
  const name = fileName(config);
  return {
    decoupled: config.model_transaction_policy?.decoupled ?? false,
    model_name: location.name,
    model_directory: location.modelDirectory,
    version_directory: location.versionDirectory,
    model_file: joinPath(location.versionDirectory, name),
    module: `${location.version}.${path.basename(name, '.py')}`,
  };
}

function fileName(config: ModelConfig): string {
  return config.default_model_filename || 'model.py';
}
