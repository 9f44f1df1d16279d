/** A model's header with the shapes that the runtime infers, for tools that run outside a server. */
import { statSync } from 'node:fs';
import { externalFiles, type OnnxModel, readOnnxFile } from '../../../onnx/onnx-file.js';
import { mergeSessionInfo } from '../session/session-info.js';
import { needsRuntimeShapes } from '../session/session-shapes.js';
import { DEFAULT_DESCRIBE_SECONDS, describeSession } from './describe-process.js';

/** What `describeOnnx` found. */
export interface OnnxDescription {
  readonly model: OnnxModel;
  /** Why the runtime could not be asked; undefined when all that matters is known. */
  readonly doubt: string | undefined;
}

/** Larger models are not given to the runtime, whose load takes about a second per GB, unless their shapes need it. */
const RUNTIME_LIMIT_BYTES = 64 * 2 ** 20;

/**
 * Reads a model's header and, where that is quick or needed, lets the runtime load the model, in another process and for
 * `limitSeconds` at most. Rejects with INTERNAL and the runtime's message when the file is not a model or the runtime refuses
 * it, with UNAVAILABLE when it takes too long. Without the runtime's native library the file's own shapes are returned
 * with a doubt.
 */
export async function describeOnnx(path: string, limitSeconds = DEFAULT_DESCRIBE_SECONDS): Promise<OnnxDescription> {
  const model = readOnnxFile(path);
  if (statSync(path).size > RUNTIME_LIMIT_BYTES && !needsRuntimeShapes(model)) return { model, doubt: undefined };
  const options = { graphOptimizationLevel: 'disabled', logSeverityLevel: 4, intraOpNumThreads: 1 } as const;
  const described = await describeSession(
    { path, externalFiles: externalFiles(model), options, runOptions: {} },
    limitSeconds,
  );
  if (described.missing !== undefined) {
    return { model, doubt: `not checked by the runtime, which cannot be loaded: ${described.missing}` };
  }
  return { model: mergeSessionInfo(model, described.info), doubt: undefined };
}
