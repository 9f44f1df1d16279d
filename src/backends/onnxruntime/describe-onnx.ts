/** A model's header with the shapes that the runtime infers, for tools that run outside a server. */
import { TritonError } from '../../protocol/error.js';
import { type OnnxModel, readOnnxFile } from './onnx-file.js';
import { needsRuntimeShapes, withSessionShapes } from './session-shapes.js';

/** What `describeOnnx` found. */
export interface OnnxDescription {
  readonly model: OnnxModel;
  /** Why the runtime was not asked although its shape inference could tell more than the file; undefined when all is known. */
  readonly doubt: string | undefined;
}

/**
 * Reads a model's header; asks the runtime only when the file leaves shapes of outputs open. Throws INTERNAL with the
 * runtime's text when the file is no model or the runtime refuses it. Without the runtime's native library (or with
 * types that its binding does not know) the file's own shapes are returned with a doubt.
 */
export async function describeOnnx(path: string): Promise<OnnxDescription> {
  const model = readOnnxFile(path);
  if (!needsRuntimeShapes(model)) return { model, doubt: undefined };
  let runtime: typeof import('onnxruntime-node');
  try {
    runtime = (await import('onnxruntime-node')).default as typeof import('onnxruntime-node');
  } catch (reason) {
    return { model, doubt: `the runtime cannot be loaded (${TritonError.from(reason).message})` };
  }
  try {
    const session = await runtime.InferenceSession.create(path, {
      graphOptimizationLevel: 'disabled',
      logSeverityLevel: 4,
      intraOpNumThreads: 1,
    });
    const described = withSessionShapes(model, session.inputMetadata, session.outputMetadata);
    await session.release();
    return { model: described, doubt: undefined };
  } catch (reason) {
    const { message } = TritonError.from(reason);
    if (/^Unsupported data type: \d+/.test(message)) return { model, doubt: `the runtime's binding: ${message}` };
    throw new TritonError('INTERNAL', message, { cause: reason });
  }
}
