/** Judges the files of a Python model, and what it does when it is imported. */

import { TritonError } from '../../base/error.js';
import { MAX_SOURCE_BYTES } from '../../base/files/read-regular-file.js';
import type { Fault } from '../../contract/fault.js';
import type { ExaminationResult, ExaminedVersion } from '../../contract/file-examiner.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import { joinPath, kindOf, readTextFile } from '../../repository/files/local.js';
import { completedConfig } from './complete-config.js';
import { checkModel, InterpreterError } from './model-checks.js';
import { completeSettings, findSource } from './model-settings.js';
import { findInterpreter } from './process/interpreter.js';

type Add = (fault: Fault) => void;

/**
 * Checks the files of one version and, if that is allowed and a server would do so too, imports the model and lets it
 * complete its configuration. Without that, a model that completes its configuration is not judged by its tensors.
 */
export async function examine(version: ExaminedVersion): Promise<ExaminationResult> {
  const { modelDirectory, config } = version;
  const faults: Fault[] = [];
  const add: Add = (fault) => faults.push(fault);
  await checkParameters(modelDirectory, config, add);
  const source = await readSource(modelDirectory, version.version, config, add);
  const completes = version.autoComplete && /\bdef\s+auto_complete_config\b/.test(source);
  const result = { config, provided: true, faults, doubts: [], instanceFaults: async () => [] };
  const unrun = { ...result, tensors: completes ? ('unknown' as const) : ('complete' as const) };
  if (faults.length > 0 || !version.autoComplete || !version.runModelCode) return unrun;
  try {
    return { ...result, config: await runModel(version), tensors: 'complete' };
  } catch (reason) {
    const error = TritonError.from(reason);
    if (error instanceof InterpreterError) {
      const doubt: Fault = { rule: 'python-not-run', code: error.code, message: error.message, path: [] };
      return { ...unrun, doubts: [doubt] };
    }
    return { ...result, tensors: 'given', faults: [loadFault(error, version)] };
  }
}

async function runModel(version: ExaminedVersion): Promise<ModelConfig> {
  const { modelDirectory, config } = version;
  const versionDirectory = joinPath(modelDirectory, version.version);
  const location = { modelDirectory, versionDirectory, name: config.name, version: version.version };
  const interpreter = await findInterpreter(config, modelDirectory, { config: version.backendConfig });
  const settings = completeSettings(location, config, await findSource(location, config, undefined));
  return completedConfig(await checkModel(interpreter, settings), config);
}

/** The fault at the line of the model's own file that its traceback names first. */
function loadFault(error: TritonError, { modelDirectory, version, config }: ExaminedVersion): Fault {
  const file = joinPath(modelDirectory, version, config.default_model_filename || 'model.py');
  const place = error.message.split('\n').find((line) => line.trim().startsWith(`${file}(`));
  const line = /\((\d+)\)/.exec(place ?? '')?.[1] ?? /\(model\.py, line (\d+)\)/.exec(error.message)?.[1];
  const position = line === undefined ? {} : { position: { line: Number(line), column: 1 } };
  return { rule: 'python-load', code: error.code, message: error.message, path: [], file, ...position };
}

async function readSource(modelDirectory: string, version: string, config: ModelConfig, add: Add): Promise<string> {
  const fileName = config.default_model_filename || 'model.py';
  const file = joinPath(modelDirectory, version, fileName);
  const path = ['default_model_filename'];
  if (!fileName.endsWith('.py')) {
    const message = `Model name must end with '.py'. Model name is "${fileName}".`;
    add({ rule: 'python-file-name', code: 'INTERNAL', message, path });
    return '';
  }
  if ((await kindOf(file)) === undefined) {
    add({ rule: 'model-file-missing', code: 'INTERNAL', message: `Python model file not found in '${file}'`, path });
    return '';
  }
  let source: string;
  try {
    source = (await readTextFile(file, MAX_SOURCE_BYTES)).toString('utf8');
  } catch (reason) {
    const message = `Python model file '${file}' cannot be read: ${TritonError.from(reason).message}`;
    add({ rule: 'model-file-unreadable', code: 'INTERNAL', message, path, remedy: 'Put a readable file there.' });
    return '';
  }
  // The class may only come from elsewhere with a star import or by running text.
  if (!/\bTritonPythonModel\b|\bimport\s*\*|\bexec\b/.test(source)) {
    const module = `${version}.${fileName.slice(0, -'.py'.length)}`;
    const message = `AttributeError: module '${module}' has no attribute 'TritonPythonModel'`;
    const remedy = 'Define class TritonPythonModel with an execute method.';
    add({ rule: 'python-class-missing', code: 'INTERNAL', message, path: [], remedy });
  }
  return source;
}

async function checkParameters(modelDirectory: string, config: ModelConfig, add: Add): Promise<void> {
  const value = (key: string): string => config.parameters.get(key)?.string_value ?? '';
  const force = value('FORCE_CPU_ONLY_INPUT_TENSORS');
  if (!['', 'yes', 'no'].includes(force)) {
    const message = `Incorrect value for FORCE_CPU_ONLY_INPUT_TENSORS: ${force}'`;
    const path = ['parameters', 'FORCE_CPU_ONLY_INPUT_TENSORS'];
    add({ rule: 'python-parameter', code: 'UNSUPPORTED', message, path, remedy: "Write 'yes' or 'no'." });
  }
  const environment = value('EXECUTION_ENV_PATH').replaceAll('$$TRITON_MODEL_DIRECTORY', () => modelDirectory);
  if (environment !== '' && (await kindOf(environment)) === undefined) {
    const message = `Failed to get the canonical path for ${environment}.`;
    add({ rule: 'python-parameter', code: 'INTERNAL', message, path: ['parameters', 'EXECUTION_ENV_PATH'] });
  }
}
