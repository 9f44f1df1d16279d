/** Judges the files of one version of an ONNX model without serving it: what Triton would do, in its order. */
import { silentLog } from '../../base/log.js';
import { type Fault, faultOf } from '../../contract/fault.js';
import type { ExaminationResult, ExaminedVersion } from '../../contract/file-examiner.js';
import { defaultMaxBatchSize } from '../../modelconfig/complete/default-max-batch-size.js';
import { autoCompleteOnnx, isCompleteOnnxConfig } from '../../onnx/auto-complete.js';
import { checkOnnxAgainstConfig } from '../../onnx/check-config.js';
import type { OnnxModel } from '../../onnx/onnx-file.js';
import { locateOnnxFile } from '../../onnx/onnx-path.js';
import { onnxRemedy } from '../../onnx/onnx-remedy.js';
import { WireFormatError } from '../../onnx/wire-file.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import { joinPath } from '../../repository/files/local.js';
import { modelFileProblem } from '../../repository/load/model-file-problem.js';
import { describeOnnx } from './describe/describe-onnx.js';
import { describeSeconds } from './describe/describe-process.js';
import { checkBinding } from './session/check-binding.js';
import { readSessionSettings } from './session/session-options.js';

/** Completes and checks one version from its file. */
export async function examine(version: ExaminedVersion): Promise<ExaminationResult> {
  const { config, autoComplete, backendConfig } = version;
  const doubts: Fault[] = [];
  const opened = await openModel(version, doubts);
  const result = { provided: true, tensors: 'complete' as const, doubts };
  const instanceFaults = async (final: ModelConfig): Promise<readonly Fault[]> => [
    ...settingsFaults(final),
    ...(opened.fault === undefined ? modelFaults(final, opened.model) : [opened.fault]),
  ];
  if (!autoComplete || isCompleteOnnxConfig(config)) return { ...result, config, faults: [], instanceFaults };
  if (opened.fault !== undefined) {
    return { ...result, config, tensors: 'given', faults: [opened.fault], instanceFaults: async () => [] };
  }
  try {
    const options = { defaultMaxBatchSize: defaultMaxBatchSize(backendConfig), log: silentLog };
    return { ...result, config: autoCompleteOnnx(config, opened.model, options), faults: [], instanceFaults };
  } catch (reason) {
    const path = config.max_batch_size === 0 ? [] : ['max_batch_size'];
    const fault = faultOf(reason, 'onnx-auto-complete', path, onnxRemedy((reason as Error).message));
    return { ...result, config, tensors: 'given', faults: [fault], instanceFaults: async () => [] };
  }
}

type Opened = { readonly model: OnnxModel; readonly fault?: undefined } | { readonly fault: Fault };

/** Reads the header and, where that is quick or needed, lets the runtime load the model. */
async function openModel(version: ExaminedVersion, doubts: Fault[]): Promise<Opened> {
  const { config } = version;
  const at = ['default_model_filename'];
  let path = joinPath(version.modelDirectory, version.version, config.default_model_filename);
  try {
    path = locateOnnxFile(path, config.name);
  } catch (reason) {
    return { fault: { ...faultOf(reason, 'model-file-missing', at), file: path } };
  }
  const problem = await modelFileProblem(path);
  try {
    const { model, doubt } = await describeOnnx(path, describeSeconds(version.backendConfig));
    if (doubt !== undefined)
      doubts.push({ rule: 'onnx-runtime-missing', code: 'UNAVAILABLE', message: doubt, path: [] });
    return { model };
  } catch (reason) {
    if (problem !== undefined) {
      const remedy = `${problem.message}. ${problem.remedy}`;
      return { fault: { ...faultOf(reason, problem.rule, at, remedy), file: path } };
    }
    const cause = reason instanceof Error ? reason.cause : undefined;
    if (!(cause instanceof WireFormatError)) {
      const remedy = onnxRemedy((reason as Error).message);
      return { fault: { ...faultOf(reason, 'onnx-file', at, remedy), file: path } };
    }
    const remedy = `The file is cut short or is not an ONNX model: ${cause.message}. Copy or export the model again.`;
    return { fault: { ...faultOf(reason, 'model-file-truncated', at, remedy), file: path } };
  }
}

function modelFaults(config: ModelConfig, model: OnnxModel): readonly Fault[] {
  const faults = checkOnnxAgainstConfig(config, model);
  return faults.length > 0 ? faults : checkBinding(config);
}

function settingsFaults(config: ModelConfig): Fault[] {
  try {
    readSessionSettings(config);
    return [];
  } catch (reason) {
    return [faultOf(reason, 'onnx-parameter', ['parameters'])];
  }
}
