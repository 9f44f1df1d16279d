/**
 * Recognising what kind of model a directory holds: fills `name`, `backend`, `platform` and `default_model_filename`
 * (spec: model repository, section 1.4). Runs always, also with auto-completion switched off.
 */
import { invalidArg } from '../../protocol/error.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';

/** The entries of one version directory. */
export interface VersionEntries {
  /** undefined when there is no such entry. */
  kindOf(name: string): 'file' | 'directory' | undefined;
}

/** A version directory without entries, for models without any sub-directory. */
export const noEntries: VersionEntries = { kindOf: () => undefined };

/**
 * Completes a configuration; returns a new one. `directoryName` is the model's directory, `entries` those of its
 * byte-wise first sub-directory. Throws INVALID_ARG when nothing tells the backend.
 */
export function completeBackendFields(
  config: ModelConfig,
  directoryName: string,
  entries: VersionEntries,
): ModelConfig {
  const result = { ...config, name: config.name || directoryName };
  const recognised =
    tensorflow(result, entries) ||
    tensorrt(result, entries) ||
    onnx(result, entries) ||
    openvino(result, entries) ||
    pytorch(result, entries) ||
    python(result, entries);
  if (!recognised) custom(result, directoryName);
  return result;
}

function tensorflow(config: ModelConfig, entries: VersionEntries): boolean {
  const { default_model_filename: file } = config;
  if (config.platform === '' && (config.backend === '' || config.backend === 'tensorflow')) {
    if (file === 'model.savedmodel') config.platform = 'tensorflow_savedmodel';
    else if (file === 'model.graphdef') config.platform = 'tensorflow_graphdef';
    else if (file === '') {
      if (entries.kindOf('model.savedmodel') === 'directory') config.platform = 'tensorflow_savedmodel';
      if (entries.kindOf('model.graphdef') === 'file') config.platform = 'tensorflow_graphdef';
    }
  }
  if (config.platform !== 'tensorflow_savedmodel' && config.platform !== 'tensorflow_graphdef') return false;
  config.backend ||= 'tensorflow';
  config.default_model_filename ||= config.platform === 'tensorflow_graphdef' ? 'model.graphdef' : 'model.savedmodel';
  return true;
}

function tensorrt(config: ModelConfig, entries: VersionEntries): boolean {
  const { backend, platform, default_model_filename: file } = config;
  if (
    backend === '' &&
    (platform === 'tensorrt_plan' ||
      file === 'model.plan' ||
      (platform === '' && file === '' && entries.kindOf('model.plan') === 'file'))
  ) {
    config.backend = 'tensorrt';
  }
  if (config.backend !== 'tensorrt') return false;
  config.platform ||= 'tensorrt_plan';
  config.default_model_filename ||= 'model.plan';
  return true;
}

function onnx(config: ModelConfig, entries: VersionEntries): boolean {
  const { backend, platform, default_model_filename: file } = config;
  if (
    backend === '' &&
    (platform === 'onnxruntime_onnx' ||
      file === 'model.onnx' ||
      (platform === '' && file === '' && entries.kindOf('model.onnx') !== undefined))
  ) {
    config.backend = 'onnxruntime';
  }
  if (config.backend !== 'onnxruntime') return false;
  config.platform ||= 'onnxruntime_onnx';
  config.default_model_filename ||= 'model.onnx';
  return true;
}

function openvino(config: ModelConfig, entries: VersionEntries): boolean {
  const { backend, platform, default_model_filename: file } = config;
  const bare = platform === '' && file === '';
  if (backend === '' && (file === 'model.xml' || (bare && entries.kindOf('model.xml') === 'file'))) {
    config.backend = 'openvino';
  }
  if (config.backend !== 'openvino') return false;
  config.default_model_filename ||= 'model.xml';
  return true;
}

function pytorch(config: ModelConfig, entries: VersionEntries): boolean {
  const { backend, platform, default_model_filename: file } = config;
  if (backend === '') {
    const named =
      ['pytorch_libtorch', 'libtorch', 'torch_aoti'].includes(platform) || ['model.pt', 'model.pt2'].includes(file);
    if (named) {
      config.backend = 'pytorch';
    } else if (platform === '' && file === '') {
      const script = entries.kindOf('model.pt') === 'file';
      if (script || entries.kindOf('model.pt2') !== undefined) {
        config.backend = 'pytorch';
        config.platform = script ? 'pytorch_libtorch' : 'torch_aoti';
      }
    }
  }
  if (config.backend !== 'pytorch') return false;
  config.platform ||= file === 'model.pt2' ? 'torch_aoti' : 'pytorch_libtorch';
  config.default_model_filename ||= config.platform === 'torch_aoti' ? 'model.pt2' : 'model.pt';
  return true;
}

function python(config: ModelConfig, entries: VersionEntries): boolean {
  const { backend, platform, default_model_filename: file } = config;
  const bare = platform === '' && file === '';
  if (backend === '' && (file === 'model.py' || (bare && entries.kindOf('model.py') !== undefined))) {
    config.backend = 'python';
  }
  if (config.backend !== 'python') return false;
  config.default_model_filename ||= 'model.py';
  return true;
}

function custom(config: ModelConfig, directoryName: string): void {
  if (config.backend !== '' || config.platform !== '' || config.default_model_filename !== '') return;
  const dot = directoryName.indexOf('.');
  if (dot < 0) {
    throw invalidArg(
      `Invalid model name: Could not determine backend for model '${config.name}' with no backend in model configuration. Expected model name of the form 'model.<backend_name>'.`,
    );
  }
  config.backend = directoryName.slice(dot + 1);
  config.default_model_filename = `model.${config.backend}`;
}
