/** What can be told of a Python model without running Python (spec: model repository, sections 1.3 and 6.5). */
import type { Fault } from '../../modelconfig/fault.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import type { ExaminationResult, ExaminedVersion } from '../../repository/file-examiner.js';
import { joinPath, kindOf, readTextFile } from '../../repository/local.js';

type Add = (rule: string, code: Fault['code'], message: string, path: Fault['path'], remedy?: string) => void;

/** Checks the files of one version. A model that completes its configuration by code is not judged by its tensors. */
export async function examine(version: ExaminedVersion): Promise<ExaminationResult> {
  const { modelDirectory, config } = version;
  const faults: Fault[] = [];
  const add: Add = (rule, code, message, path, remedy) =>
    faults.push({ rule, code, message, path, ...(remedy === undefined ? {} : { remedy }) });
  await checkParameters(modelDirectory, config, add);
  const source = await readSource(modelDirectory, version.version, config, add);
  return {
    config,
    provided: true,
    tensors: version.autoComplete && /\bdef\s+auto_complete_config\b/.test(source) ? 'unknown' : 'complete',
    faults,
    doubts: [],
    instanceFaults: async () => [],
  };
}

async function readSource(modelDirectory: string, version: string, config: ModelConfig, add: Add): Promise<string> {
  const fileName = config.default_model_filename || 'model.py';
  const file = joinPath(modelDirectory, version, fileName);
  if (!fileName.endsWith('.py')) {
    const text = `Model name must end with '.py'. Model name is "${fileName}".`;
    add('python-file-name', 'INTERNAL', text, ['default_model_filename']);
    return '';
  }
  if ((await kindOf(file)) === undefined) {
    add('model-file-missing', 'INTERNAL', `Python model file not found in '${file}'`, ['default_model_filename']);
    return '';
  }
  const source = (await readTextFile(file)).toString('utf8');
  // The class may only come from elsewhere with a star import or by running text.
  if (!/\bTritonPythonModel\b|\bimport\s*\*|\bexec\b/.test(source)) {
    const module = `${version}.${fileName.slice(0, -'.py'.length)}`;
    const text = `AttributeError: module '${module}' has no attribute 'TritonPythonModel'`;
    add('python-class-missing', 'INTERNAL', text, [], 'Define class TritonPythonModel with an execute method.');
  }
  return source;
}

async function checkParameters(modelDirectory: string, config: ModelConfig, add: Add): Promise<void> {
  const value = (key: string): string => config.parameters.get(key)?.string_value ?? '';
  const force = value('FORCE_CPU_ONLY_INPUT_TENSORS');
  if (!['', 'yes', 'no'].includes(force)) {
    const text = `Incorrect value for FORCE_CPU_ONLY_INPUT_TENSORS: ${force}'`;
    const path = ['parameters', 'FORCE_CPU_ONLY_INPUT_TENSORS'];
    add('python-parameter', 'UNSUPPORTED', text, path, "Write 'yes' or 'no'.");
  }
  const environment = value('EXECUTION_ENV_PATH').replaceAll('$$TRITON_MODEL_DIRECTORY', () => modelDirectory);
  if (environment !== '' && (await kindOf(environment)) === undefined) {
    const text = `Failed to get the canonical path for ${environment}.`;
    add('python-parameter', 'INTERNAL', text, ['parameters', 'EXECUTION_ENV_PATH']);
  }
}
