/** The Python backend: models that are a class TritonPythonModel (spec: runtime, section 7). */

import type { Backend, BackendModel, BackendOptions, InstanceSpec, ModelLocation } from '../../contract/backend.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import { checkBackendSettings, frameLimit } from './backend-settings.js';
import { completeConfig } from './complete-config.js';
import type { FrameReader } from './frame-reader.js';
import { findInterpreter } from './interpreter.js';
import { logRecord } from './log-record.js';
import { completeSettings, findSource, serveSettings } from './model-settings.js';
import { PythonInstance } from './python-instance.js';
import { DEFAULT_RESTART_LIMIT, RESTART_LIMIT_KEY } from './restart-schedule.js';
import { FromModel } from './wire.js';

/**
 * Makes the backend, or one that is itself a Python model: `folder` then holds the model.py that runs every model of
 * the backend, whose own folders hold data only.
 */
export function createPythonBackend(folder?: string): Backend {
  return {
    async autoComplete(location: ModelLocation, config: ModelConfig, options: BackendOptions): Promise<ModelConfig> {
      checkBackendSettings(options.config);
      const source = await findSource(location, config, folder);
      const interpreter = await findInterpreter(config, location.modelDirectory, options);
      const settings = completeSettings(location, config, source, frameLimit(options.config));
      const onFrame = (kind: number, frame: FrameReader): void => {
        if (kind === FromModel.LOG) logRecord(options.log, frame);
      };
      return await completeConfig(interpreter, settings, config, onFrame, options.cancelled);
    },

    async load(location: ModelLocation, config: ModelConfig, options: BackendOptions): Promise<BackendModel> {
      checkBackendSettings(options.config);
      const source = await findSource(location, config, folder);
      const interpreter = await findInterpreter(config, location.modelDirectory, options);
      const batching = config.max_batch_size > 0;
      const restartLimit = Number(options.config.get(RESTART_LIMIT_KEY) ?? DEFAULT_RESTART_LIMIT);
      const ahead = config.dynamic_batching === undefined && config.sequence_batching === undefined;
      return {
        createInstance: (spec: InstanceSpec, cancelled?: AbortSignal) => {
          const settings = serveSettings(location, config, source, spec, frameLimit(options.config));
          return PythonInstance.create({ interpreter, settings, batching, ahead, restartLimit }, options, cancelled);
        },
        unload: async () => {},
      };
    },
  };
}
