/** What can be said of a model that was judged: for the lists and pages that people read. */

import { CATALOGUE } from '../backends/catalogue.js';
import { ENSEMBLE_PLATFORM } from '../modelconfig/complete/normalize.js';
import { configToJson } from '../modelconfig/json/config-json.js';
import { compileModelPlan } from '../modelconfig/plan/model-plan.js';
import { type OnnxModel, readOnnxFile } from '../onnx/onnx-file.js';
import { locateOnnxFile } from '../onnx/onnx-path.js';
import type { TensorMetadata } from '../protocol/tensor.js';
import { joinPath } from '../repository/files/local.js';
import { type FolderFile, folderFiles } from './folder-files.js';
import type { ValidatedModel } from './validate-model.js';

/** One model, described. */
export interface ModelDescription {
  readonly name: string;
  readonly directory: string;
  /** `onnxruntime`, `python`, `ensemble`, ...; '' when nothing shows it. */
  readonly backend: string;
  /** Versions that a server would load. */
  readonly versions: readonly string[];
  /** Largest batch; 0 = none. Undefined when the configuration cannot be used. */
  readonly maxBatchSize: number | undefined;
  readonly bytes: number;
  readonly files: readonly FolderFile[];
  readonly errors: number;
  readonly warnings: number;
  /** As the endpoint v2/models/<model> responds; undefined when the configuration cannot be used. */
  readonly metadata: ModelMetadata | undefined;
  /** As the endpoint v2/models/<model>/config responds: a JSON string. */
  readonly config: string | undefined;
  /** What the ONNX file of the latest version says about itself. */
  readonly onnx: OnnxFacts | undefined;
}

interface ModelMetadata {
  readonly name: string;
  readonly versions: readonly string[];
  readonly platform: string;
  readonly inputs: readonly TensorMetadata[];
  readonly outputs: readonly TensorMetadata[];
}

interface OnnxFacts {
  readonly irVersion: number;
  readonly producer: string;
  /** Version by domain. */
  readonly opsets: Readonly<Record<string, number>>;
  readonly nodes: number;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Describes a model; never fails because of what is wrong with it. */
export async function describeModel(model: ValidatedModel): Promise<ModelDescription> {
  const { name, polled, versions, config, findings } = model;
  const files = await folderFiles(polled.directory).catch(() => []);
  const known = config ?? polled.config;
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  const latest = versions.at(-1);
  const usable = config !== undefined && latest !== undefined;
  return {
    name,
    directory: polled.directory,
    backend: known.platform === ENSEMBLE_PLATFORM ? ENSEMBLE_PLATFORM : known.backend,
    versions,
    maxBatchSize: polled.recognised ? known.max_batch_size : undefined,
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    files,
    errors,
    warnings: findings.length - errors,
    metadata: usable ? metadataOf(model) : undefined,
    config: usable ? configToJson(config) : undefined,
    onnx: readsOnnx(known.backend) && latest !== undefined ? onnxFacts(model, latest) : undefined,
  };
}

function metadataOf({ name, versions, config }: ValidatedModel): ModelMetadata | undefined {
  if (config === undefined) return undefined;
  const { metadataInputs, metadataOutputs } = compileModelPlan(config, versions.at(-1) ?? '');
  const platform = config.platform === '' ? config.backend : config.platform;
  return { name, versions, platform, inputs: metadataInputs, outputs: metadataOutputs };
}

/** True for backends whose model files are ONNX. */
function readsOnnx(backend: string): boolean {
  return CATALOGUE.some(({ name, formats }) => name === backend && formats.some(({ content }) => content === 'onnx'));
}

function onnxFacts({ polled, config }: ValidatedModel, version: string): OnnxFacts | undefined {
  const file = joinPath(polled.directory, version, config?.default_model_filename ?? '');
  let model: OnnxModel;
  try {
    model = readOnnxFile(locateOnnxFile(file, polled.name));
  } catch {
    return undefined; // the findings say why
  }
  return {
    irVersion: model.irVersion,
    producer: [model.producerName, model.producerVersion].filter((text) => text !== '').join(' '),
    opsets: Object.fromEntries([...model.opsets].map(([domain, value]) => [domain || 'ai.onnx', value])),
    nodes: model.nodeCount,
    metadata: Object.fromEntries(model.metadata),
  };
}
