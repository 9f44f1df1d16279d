/** The Python backend: models that are a class TritonPythonModel. */

import type { Backend, BackendModel, BackendOptions, InstanceSpec, ModelLocation } from '../../contract/backend.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import { checkBackendSettings, frameLimit } from './backend-settings.js';
import { logRecord } from './calls/log-record.js';
import { completeConfig } from './complete-config.js';
import { PythonInstance } from './instance/python-instance.js';
import { DEFAULT_RESTART_LIMIT, RESTART_LIMIT_KEY } from './instance/restart-schedule.js';
import { completeSettings, findSource, serveSettings } from './model-settings.js';
import { findInterpreter } from './process/interpreter.js';
import type { FrameReader } from './wire/frame-reader.js';
import { FromModel } from './wire/wire.js';

/**
 * Makes the backend, or one that is itself a Python model: `folder` then holds the model.py that runs every model of
 * the backend, whose own directories hold data only.
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
      return await completeConfig(interpreter, settings, config, { onFrame, cancelled: options.cancelled });
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
          const settings = serveSettings(location, config, source, { spec, frameLimit: frameLimit(options.config) });
          return PythonInstance.create({ interpreter, settings, batching, ahead, restartLimit }, options, cancelled);
        },
        unload: async () => {},
      };
    },
  };
}
