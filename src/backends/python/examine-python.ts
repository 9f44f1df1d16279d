/** Judges the files of a Python model, and what it does when it is imported. */

import path from 'node:path';
import { TritonError } from '../../base/error.js';
import { MAX_SOURCE_BYTES } from '../../base/files/read-regular-file.js';
import type { InstanceSpec, ModelLocation } from '../../contract/backend.js';
import type { Fault } from '../../contract/fault.js';
import type { ExaminationResult, ExaminedVersion, FileExaminer, StartResult } from '../../contract/file-examiner.js';
import { RULES, type RuleName } from '../../contract/rule-table.js';
import { completionTimeText, mergeCompleted } from '../../modelconfig/complete/merge-completed.js';
import { instanceKind, instanceName } from '../../modelconfig/complete/normalize.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import { joinPath, kindOf, readTextFile } from '../../repository/files/local.js';
import { completedConfig } from './complete-config.js';
import { type CheckOutcome, checkModel, InterpreterError } from './model-checks.js';
import { completeSettings, findSource, type ModelSource, serveSettings } from './model-settings.js';
import { findInterpreter } from './process/interpreter.js';
import { notHealthy, type ProcessSettings } from './process/python-process.js';
import { LONGEST_FRAME } from './wire/wire.js';

type Add = (fault: Fault) => void;

/** Judges models of the Python backend. */
export const examine: FileExaminer = (version) => examineModel(version, undefined);

/** Judges models of a backend that is a Python model itself: `folder` holds its model.py. */
export function examinerOf(folder: string): FileExaminer {
  return (version) => examineModel(version, folder);
}

/**
 * Checks the files of one version and, if that is allowed and a server would do so too, imports the model and lets it
 * complete its configuration. Without that, a model that completes its configuration is not judged by its tensors.
 */
async function examineModel(version: ExaminedVersion, folder: string | undefined): Promise<ExaminationResult> {
  const { modelDirectory, config, run, autoComplete } = version;
  const faults: Fault[] = [];
  const add: Add = (fault) => faults.push(fault);
  await checkParameters(modelDirectory, config, add);
  const source =
    folder === undefined
      ? await readSource(modelDirectory, version.version, config, add)
      : (await readTextFile(joinPath(folder, 'model.py'), MAX_SOURCE_BYTES)).toString('utf8');
  const completes = autoComplete && /\bdef\s+auto_complete_config\b/.test(source);
  const result = { config, provided: true, faults, doubts: [], instanceFaults: async () => [] };
  const unrun = { ...result, tensors: completes ? ('unknown' as const) : ('complete' as const) };
  if (faults.length > 0) return unrun;
  if (run.upTo === 'nothing') return { ...unrun, notRun: true };
  const code = new ModelCode(version, folder);
  const starts = run.upTo === 'start' ? { start: (final: ModelConfig) => code.start(final) } : {};
  if (!autoComplete) return { ...unrun, ...starts };
  const completed = await code.complete();
  if (completed.faults.length > 0) return { ...result, ...completed, tensors: 'given' };
  // A completion that may have failed for want of a server leaves the configuration as it was.
  const failed = completed.config === config;
  return { ...result, ...completed, ...(failed ? {} : starts), tensors: failed ? 'unknown' : 'complete' };
}

/** The code of one model, run as a server runs it. */
class ModelCode {
  readonly #version: ExaminedVersion;
  /** Of the backend that is a Python model itself. */
  readonly #folder: string | undefined;

  constructor(version: ExaminedVersion, folder: string | undefined) {
    this.#version = version;
    this.#folder = folder;
  }

  /** Imports the model and lets it complete its configuration. */
  async complete(): Promise<StartResult & { readonly config: ModelConfig }> {
    const { config, run } = this.#version;
    const seconds = run.completionSeconds;
    const outcome = await this.#run(config, (source, location) => completeSettings(location, config, source), seconds);
    if ('faults' in outcome) return { ...outcome, config };
    const { error, late, completed, assumed } = outcome;
    if (late) {
      const text = completionTimeText(config.name, seconds);
      const remedy = 'See what the import and auto_complete_config wait for, or complete the configuration yourself.';
      const fault = { ...this.#fault('python-load', new TritonError('UNAVAILABLE', text)), remedy };
      return { config, faults: [fault], doubts: [] };
    }
    if (error !== undefined) return { config, ...withAssumed([this.#fault('python-load', error)], assumed) };
    return { config: mergeCompleted(config, completedConfig(completed, config)), ...withAssumed([], assumed) };
  }

  /** Makes the first instance of each group, and ends it. */
  async start(config: ModelConfig): Promise<StartResult> {
    const faults: Fault[] = [];
    const doubts: Fault[] = [];
    for (const spec of firstInstances(config)) {
      const result = await this.#startInstance(config, spec);
      faults.push(...result.faults);
      doubts.push(...result.doubts);
      if (faults.length > 0) break;
    }
    return { faults, doubts };
  }

  async #startInstance(config: ModelConfig, spec: InstanceSpec): Promise<StartResult> {
    const seconds = this.#version.run.startSeconds;
    const outcome = await this.#run(
      config,
      (source, location) => serveSettings(location, config, source, { spec, frameLimit: LONGEST_FRAME }),
      seconds,
    );
    if ('faults' in outcome) return outcome;
    const { error, late, assumed } = outcome;
    if (error === undefined) return withAssumed([], assumed);
    if (!late) {
      const fault = this.#fault('python-initialize', error);
      return withAssumed(
        [error.message === notHealthy(spec.name).message ? { ...fault, remedy: DIED } : fault],
        assumed,
      );
    }
    const text = `model '${config.name}' was not initialised within ${seconds} s: allow more time with --initialize-timeout`;
    const fault = this.#fault('python-initialize', new TritonError('UNAVAILABLE', text));
    return withAssumed([{ ...fault, remedy: LATE }], assumed);
  }

  async #run(
    config: ModelConfig,
    settingsOf: (source: ModelSource, location: ModelLocation) => ProcessSettings,
    seconds: number,
  ): Promise<CheckOutcome | StartResult> {
    const { modelDirectory, version, backendConfig } = this.#version;
    const versionDirectory = joinPath(modelDirectory, version);
    const location = { modelDirectory, versionDirectory, name: config.name, version };
    try {
      const interpreter = await findInterpreter(config, modelDirectory, { config: backendConfig });
      const source = await findSource(location, config, this.#folder);
      return await checkModel(interpreter, settingsOf(source, location), seconds);
    } catch (reason) {
      const error = TritonError.from(reason);
      return {
        faults: [this.#fault(error instanceof InterpreterError ? 'python-not-run' : 'python-load', error)],
        doubts: [],
      };
    }
  }

  /** The fault at the line of the model's own file that its traceback names first. */
  #fault(rule: RuleName, error: TritonError): Fault {
    const fault = { rule, code: error.code, message: error.message, path: [] };
    if (rule === 'python-not-run') return fault;
    const { modelDirectory, version, config } = this.#version;
    const file =
      this.#folder === undefined
        ? joinPath(modelDirectory, version, config.default_model_filename || 'model.py')
        : joinPath(this.#folder, 'model.py');
    // The interpreter names files by their whole path.
    const names = [`${file}(`, `${path.resolve(file)}(`];
    const place = error.message.split('\n').find((line) => names.some((name) => line.trim().startsWith(name)));
    const line = /\((\d+)\)/.exec(place ?? '')?.[1] ?? /\(model\.py, line (\d+)\)/.exec(error.message)?.[1];
    return { ...fault, file, ...(line === undefined ? {} : { position: { line: Number(line), column: 1 } }) };
  }
}

const DIED = 'Its code ended the process: look for os._exit, a crash in native code, or too little memory.';
const LATE = 'See what initialize waits for. A server waits for it without a limit.';

/** What follows from calls that were taken as done: a failure may be due to them, and a success is not certain. */
function withAssumed(faults: readonly Fault[], assumed: readonly string[]): StartResult {
  if (assumed.length === 0) return { faults, doubts: [] };
  const [fault] = faults;
  const then = fault === undefined ? '' : ` Then it failed: ${fault.message}`;
  const message = `the model asks the server for ${assumed.join(', ')}, which was taken as done because there is no server here.${then}`;
  const place = fault === undefined ? { path: [] } : { ...fault, path: [] };
  return {
    faults: [],
    doubts: [
      {
        ...place,
        rule: 'python-needs-server',
        code: 'UNAVAILABLE',
        message,
        remedy: RULES['python-needs-server'].remedy,
      },
    ],
  };
}

/** The first instance of each group, on each device: the others get the same arguments but for their names. */
function firstInstances(config: ModelConfig): InstanceSpec[] {
  return config.instance_group
    .filter(({ count }) => count > 0)
    .flatMap((group) => {
      const kind = instanceKind(group);
      const name = instanceName(group, 0);
      return (kind === 'KIND_GPU' ? group.gpus : [0]).map((deviceId) => ({ name, kind, deviceId, threads: 1 }));
    });
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
