/** The onnxruntime backend: ONNX models on onnxruntime-node. */

import { invalidArg, TritonError } from '../../base/error.js';
import type { Backend, BackendOptions, ModelLocation } from '../../contract/backend.js';
import { defaultMaxBatchSize } from '../../modelconfig/complete/default-max-batch-size.js';
import { autoCompleteOnnx, isCompleteOnnxConfig } from '../../onnx/auto-complete.js';
import { externalFiles, readOnnxFile } from '../../onnx/onnx-file.js';
import { locateOnnxFile } from '../../onnx/onnx-path.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import { describeSeconds, describeSession } from './describe/describe-process.js';
import { OnnxModel } from './onnx-model.js';
import { mergeSessionInfo } from './session/session-info.js';
import { readSessionSettings, sessionOptions } from './session/session-options.js';
import { needsRuntimeShapes } from './session/session-shapes.js';

/** Keys of `--backend-config=onnxruntime,<key>=<value>` that are this program's own. */
export const INLINE_EXECUTION_KEY = 'inline-execution';
export const INLINE_LIMIT_KEY = 'inline-limit-microseconds';

/** Runs that take longer are not worth blocking the main thread: the way to a worker thread and back costs about this. */
const DEFAULT_INLINE_LIMIT_US = 200;

/** The backend, as the registry finds it. */
export const backend: Backend = {
  async autoComplete(location: ModelLocation, config: ModelConfig, options: BackendOptions): Promise<ModelConfig> {
    const settings = { defaultMaxBatchSize: defaultMaxBatchSize(options.config), log: options.log };
    const file = config.default_model_filename === '' ? 'model.onnx' : config.default_model_filename;
    const path = locateOnnxFile(`${location.versionDirectory}/${file}`, location.name);
    let header = readOnnxFile(path);
    if (!isCompleteOnnxConfig(config) && needsRuntimeShapes(header)) {
      const session = readSessionSettings(config);
      const open = {
        path: header.path,
        externalFiles: externalFiles(header),
        options: sessionOptions(session, 1, undefined),
        runOptions: session.runOptions,
      };
      const described = await describeSession(open, describeSeconds(options.config));
      if (described.missing !== undefined) throw new TritonError('INTERNAL', described.missing);
      header = mergeSessionInfo(header, described.info);
    }
    return autoCompleteOnnx(config, header, settings);
  },

  async load(location: ModelLocation, config: ModelConfig, options: BackendOptions): Promise<OnnxModel> {
    return new OnnxModel(location, config, options, { inlineLimitNs: inlineLimitNs(options.config) });
  },
};

function inlineLimitNs(config: ReadonlyMap<string, string>): number {
  const mode = config.get(INLINE_EXECUTION_KEY) ?? 'auto';
  if (mode === 'off') return 0;
  if (mode !== 'auto')
    throw invalidArg(
      `${INLINE_EXECUTION_KEY} is auto or off: --backend-config=onnxruntime,${INLINE_EXECUTION_KEY}=${mode}`,
    );
  const text = config.get(INLINE_LIMIT_KEY) ?? String(DEFAULT_INLINE_LIMIT_US);
  if (!/^\d{1,9}$/.test(text)) {
    throw invalidArg(
      `${INLINE_LIMIT_KEY} is a whole number of microseconds from 0 to 999999999: ` +
        `--backend-config=onnxruntime,${INLINE_LIMIT_KEY}=${text}`,
    );
  }
  return Number(text) * 1000;
}
