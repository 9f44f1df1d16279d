/** Judges the files of one version of an ONNX model without serving it: what the server would do, in its order. */
import { statSync } from 'node:fs';
import { silentLog } from '../../engine/log.js';
import { defaultMaxBatchSize } from '../../modelconfig/default-max-batch-size.js';
import type { Fault } from '../../modelconfig/fault.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import type { ExaminationResult, ExaminedVersion } from '../../repository/file-examiner.js';
import { joinPath } from '../../repository/local.js';
import { modelFileProblem } from '../../repository/model-file-problem.js';
import { faultOf } from '../../repository/poll-model.js';
import { autoCompleteOnnx, isCompleteOnnxConfig } from './auto-complete.js';
import { checkOnnxAgainstConfig } from './check-config.js';
import { type OnnxModel, readOnnxFile } from './onnx-file.js';
import { locateOnnxFile } from './onnx-path.js';
import { OpenSession } from './open-session.js';
import { loadOrtBinding, type OrtSessionOptions } from './ort-binding.js';
import { mergeSessionInfo } from './session-info.js';
import { readSessionSettings } from './session-options.js';
import { needsRuntimeShapes } from './session-shapes.js';

/** Larger models are not given to the runtime, whose load takes about a second per GB, unless their shapes need it. */
const RUNTIME_LIMIT_BYTES = 64 * 2 ** 20;

/** Completes and checks one version from its file. */
export async function examine(version: ExaminedVersion): Promise<ExaminationResult> {
  const { config, autoComplete, backendConfig } = version;
  const doubts: Fault[] = [];
  const opened = await openModel(version, doubts);
  const result = { provided: true, judgesTensors: true, doubts };
  const instanceFaults = async (final: ModelConfig): Promise<readonly Fault[]> => [
    ...settingsFaults(final),
    ...(opened.fault === undefined ? checkOnnxAgainstConfig(final, opened.model) : [opened.fault]),
  ];
  if (!autoComplete || isCompleteOnnxConfig(config)) return { ...result, config, faults: [], instanceFaults };
  if (opened.fault !== undefined) {
    return { ...result, config, judgesTensors: false, faults: [opened.fault], instanceFaults: async () => [] };
  }
  try {
    const options = { defaultMaxBatchSize: defaultMaxBatchSize(backendConfig), log: silentLog };
    return { ...result, config: autoCompleteOnnx(config, opened.model, options), faults: [], instanceFaults };
  } catch (reason) {
    const path = config.max_batch_size === 0 ? [] : ['max_batch_size'];
    const fault = faultOf(reason, 'onnx-auto-complete', path);
    return { ...result, config, judgesTensors: false, faults: [fault], instanceFaults: async () => [] };
  }
}

type Opened = { readonly model: OnnxModel; readonly fault?: undefined } | { readonly fault: Fault };

/** Reads the header and, where that is quick or needed, lets the runtime load the model. */
async function openModel(version: ExaminedVersion, doubts: Fault[]): Promise<Opened> {
  const { config } = version;
  const at = ['default_model_filename'];
  let path: string;
  try {
    path = locateOnnxFile(
      joinPath(version.modelDirectory, version.version, config.default_model_filename),
      config.name,
    );
  } catch (reason) {
    return { fault: faultOf(reason, 'model-file-missing', at) };
  }
  const problem = await modelFileProblem(path);
  try {
    const model = readOnnxFile(path);
    if (statSync(path).size > RUNTIME_LIMIT_BYTES && !needsRuntimeShapes(model)) return { model };
    return { model: openInRuntime(model, doubts) };
  } catch (reason) {
    const remedy = problem === undefined ? undefined : `${problem.message}. ${problem.remedy}`;
    return { fault: faultOf(reason, problem?.rule ?? 'onnx-file', at, remedy) };
  }
}

/** The model with the runtime's shapes; throws the server's error when the runtime refuses it. */
function openInRuntime(model: OnnxModel, doubts: Fault[]): OnnxModel {
  const options: OrtSessionOptions = { graphOptimizationLevel: 'disabled', logSeverityLevel: 4, intraOpNumThreads: 1 };
  try {
    loadOrtBinding();
  } catch (reason) {
    const text = `not checked by the runtime, which cannot be loaded: ${(reason as Error).message}`;
    doubts.push({ rule: 'onnx-runtime-missing', code: 'UNAVAILABLE', message: text, path: [] });
    return model;
  }
  const session = new OpenSession({ path: model.path, options, runOptions: {} });
  const merged = mergeSessionInfo(model, session.info);
  session.dispose();
  return merged;
}

function settingsFaults(config: ModelConfig): Fault[] {
  try {
    readSessionSettings(config);
    return [];
  } catch (reason) {
    return [faultOf(reason, 'onnx-parameter', ['parameters'])];
  }
}
