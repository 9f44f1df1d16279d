/** The Python backend: models that are a class TritonPythonModel (spec: runtime, section 7). */
import { configFromJson } from '../../modelconfig/json.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import type { Backend, BackendModel, BackendOptions, InstanceSpec, ModelLocation } from '../backend.js';
import { checkBackendSettings } from './backend-settings.js';
import { findInterpreter } from './interpreter.js';
import { logRecord } from './log-record.js';
import { checkModel, completeSettings, serveSettings } from './model-settings.js';
import { PythonInstance } from './python-instance.js';
import { PythonProcess } from './python-process.js';
import { FromModel } from './wire.js';

/** The backend, as the registry finds it. */
export const backend: Backend = {
  name: 'python',
  supportsOptionalInputs: true,

  async autoComplete(location: ModelLocation, config: ModelConfig, options: BackendOptions): Promise<ModelConfig> {
    checkBackendSettings(options.config);
    await checkModel(location, config);
    const interpreter = await findInterpreter(config, location.modelDirectory, options);
    const process = await PythonProcess.start(interpreter, completeSettings(location, config), {
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
  },

  async load(location: ModelLocation, config: ModelConfig, options: BackendOptions): Promise<BackendModel> {
    checkBackendSettings(options.config);
    await checkModel(location, config);
    const interpreter = await findInterpreter(config, location.modelDirectory, options);
    const batching = config.max_batch_size > 0;
    return {
      createInstance: (spec: InstanceSpec) =>
        PythonInstance.create({ interpreter, settings: serveSettings(location, config, spec), batching }, options),
      unload: async () => {},
    };
  },
};
