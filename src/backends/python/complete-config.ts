import { configFromJson } from '../../modelconfig/json/config-json.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import type { Interpreter } from './process/interpreter.js';
import { type ProcessSettings, PythonProcess } from './process/python-process.js';
import type { FrameReader } from './wire/frame-reader.js';

/**
 * Imports a model in a process of its own and lets it complete its configuration. Rejects with Triton's message when the
 * import or the model's code fails. `onFrame` gets what the model logs; `cancelled` ends the
 * process.
 */
export async function completeConfig(
  interpreter: Interpreter,
  settings: ProcessSettings,
  config: ModelConfig,
  { onFrame, cancelled }: { onFrame(kind: number, frame: FrameReader): void; cancelled?: AbortSignal | undefined },
): Promise<ModelConfig> {
  const process = await PythonProcess.start(interpreter, settings, { onFrame, onExit: () => {} }, cancelled);
  await process.kill();
  return completedConfig(process.completed, config);
}

/** The configuration that a model made of `config`: JSON, or '' when it changed nothing. */
export function completedConfig(text: string, config: ModelConfig): ModelConfig {
  if (text === '') return config;
  try {
    return configFromJson(text);
  } catch {
    // A datatype that does not exist, and the like: Triton then goes on with what it had.
    return config;
  }
}
