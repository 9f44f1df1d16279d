/** The Python backend: models that are a class TritonPythonModel (spec: runtime, section 7). */
import { configFromJson } from '../../modelconfig/json.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import type { Backend, BackendModel, BackendOptions, InstanceSpec, ModelLocation } from '../backend.js';
import { checkBackendSettings } from './backend-settings.js';
import { findInterpreter, type Interpreter } from './interpreter.js';
import { logRecord } from './log-record.js';
import { completeSettings, findSource, serveSettings } from './model-settings.js';
import { PythonInstance } from './python-instance.js';
import { type ProcessSettings, PythonProcess } from './python-process.js';
import { FromModel } from './wire.js';

/** The backend, as the registry finds it. */
export const backend: Backend = createPythonBackend('python');

/**
 * Makes the backend, or one that is itself a Python model: `folder` then holds the model.py that runs every model of
 * the backend, whose own folders hold data only.
 */
export function createPythonBackend(name: string, folder?: string): Backend {
  return {
    name,
    supportsOptionalInputs: true,
    ...(folder === undefined ? {} : { settingsOf: 'python' }),

    async autoComplete(location: ModelLocation, config: ModelConfig, options: BackendOptions): Promise<ModelConfig> {
      checkBackendSettings(options.config);
      const source = await findSource(location, config, folder);
      const interpreter = await findInterpreter(config, location.modelDirectory, options);
      return await complete(interpreter, completeSettings(location, config, source), config, options);
    },

    async load(location: ModelLocation, config: ModelConfig, options: BackendOptions): Promise<BackendModel> {
      checkBackendSettings(options.config);
      const source = await findSource(location, config, folder);
      const interpreter = await findInterpreter(config, location.modelDirectory, options);
      const batching = config.max_batch_size > 0;
      return {
        createInstance: (spec: InstanceSpec) => {
          const settings = serveSettings(location, config, source, spec);
          return PythonInstance.create({ interpreter, settings, batching }, options);
        },
        unload: async () => {},
      };
    },
  };
}

async function complete(
  interpreter: Interpreter,
  settings: ProcessSettings,
  config: ModelConfig,
  options: BackendOptions,
): Promise<ModelConfig> {
  const process = await PythonProcess.start(interpreter, settings, {
    onFrame: (kind, frame) => {
      if (kind === FromModel.LOG) logRecord(options.log, frame);
    },
    onExit: () => {},
  });
  await process.kill();
  if (process.completed === '') return config;
  try {
    return configFromJson(process.completed);
  } catch {
    // A datatype that does not exist, and the like: the original then goes on with what it had.
    return config;
  }
}
