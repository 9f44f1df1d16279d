import { existsSync } from 'node:fs';
import path from 'node:path';
import { TritonError } from '../../../base/error.js';
import type { BackendOptions } from '../../../contract/backend.js';
import type { ModelConfig } from '../../../protocol/proto/model-config.js';
import { prepareEnvironment } from './execution-environment.js';

/** How a model's process is started; the script and its arguments follow `args`. */
export interface Interpreter {
  readonly command: string;
  readonly args: readonly string[];
}

/** Key of the backend configuration that names the interpreter. */
export const EXECUTABLE_KEY = 'python-executable';

/** Environment variable that names the interpreter. */
export const EXECUTABLE_VARIABLE = 'TRITON_PYTHON';

/**
 * The interpreter of a model: out of its EXECUTION_ENV_PATH, else the one that the backend's configuration or the
 * environment names, else python3. Rejects with Triton's messages for an environment that cannot be used.
 */
export async function findInterpreter(
  config: ModelConfig,
  modelDirectory: string,
  options: Pick<BackendOptions, 'config'>,
): Promise<Interpreter> {
  const setting = config.parameters.get('EXECUTION_ENV_PATH')?.string_value ?? '';
  if (setting === '') {
    const named = options.config.get(EXECUTABLE_KEY) || process.env[EXECUTABLE_VARIABLE];
    return { command: named || 'python3', args: [] };
  }
  if (process.platform === 'win32') {
    throw new TritonError('INTERNAL', 'Custom execution environments are not currently supported on Windows.');
  }
  const folder = await prepareEnvironment(setting.replace('$$TRITON_MODEL_DIRECTORY', () => modelDirectory));
  const activate = path.join(folder, 'bin', 'activate');
  if (!existsSync(activate)) {
    throw new TritonError(
      'INTERNAL',
      `Path ${activate} does not exist. The Python environment should contain an 'activate' script.`,
    );
  }
  // The script sets search paths of libraries and programs; a directory that was moved still finds its own interpreter.
  const own = path.join(folder, 'bin', 'python3');
  const interpreter = existsSync(own) ? own : 'python3';
  return { command: 'bash', args: ['-c', 'source "$1"; shift; exec "$@"', 'bash', activate, interpreter] };
}
