/**
 * The native binding of onnxruntime-node, called directly: its public API defers every run by a turn of the event loop,
 * which instances (whose thread has nothing else to do) and short runs do not need. It also names element types that the
 * public API refuses to describe. The package's version is pinned exactly, as this is not its public interface.
 */
import { createRequire } from 'node:module';
import './ort-telemetry.js';

/** A tensor of onnxruntime-common. */
export interface OrtTensor {
  readonly type: string;
  readonly dims: readonly number[];
  readonly data: ArrayBufferView | readonly string[];
}

/** What the runtime knows of one input or output. `type` is TensorProto.DataType. */
export interface OrtValueInfo {
  readonly name: string;
  readonly isTensor: boolean;
  readonly type?: number;
  /** -1 for symbolic and unknown dimensions. */
  readonly shape?: readonly number[];
}

/** Options of a session, as the binding reads them. */
export interface OrtSessionOptions {
  readonly executionProviders?: readonly (string | { readonly name: string; readonly deviceId?: number })[];
  readonly intraOpNumThreads?: number;
  readonly interOpNumThreads?: number;
  readonly graphOptimizationLevel?: 'disabled' | 'basic' | 'extended' | 'all';
  readonly enableCpuMemArena?: boolean;
  readonly enableMemPattern?: boolean;
  readonly executionMode?: 'sequential' | 'parallel';
  readonly logSeverityLevel?: number;
  readonly extra?: Record<string, unknown>;
}

/** A loaded model. All calls block their thread. */
export interface OrtSession {
  readonly inputMetadata: readonly OrtValueInfo[];
  readonly outputMetadata: readonly OrtValueInfo[];
  loadModel(path: string, options: OrtSessionOptions): void;
  loadModel(buffer: ArrayBufferLike, byteOffset: number, byteLength: number, options: OrtSessionOptions): void;
  run(
    feeds: Readonly<Record<string, OrtTensor>>,
    fetches: Readonly<Record<string, null>>,
    options: { readonly extra?: Record<string, unknown> },
  ): Record<string, OrtTensor>;
  dispose(): void;
}

interface Binding {
  readonly session: new () => OrtSession;
  readonly tensor: new (type: string, data: ArrayBufferView | readonly string[], dims: readonly number[]) => OrtTensor;
}

let loaded: Binding | undefined;

/** Loads the native library; takes some tens of ms the first time in a thread. */
export function loadOrtBinding(): Binding {
  if (loaded !== undefined) return loaded;
  const require = createRequire(import.meta.url);
  const api = require('onnxruntime-node') as { Tensor: Binding['tensor']; env: { logLevel: string } };
  api.env.logLevel = 'fatal';
  const native = require('onnxruntime-node/dist/binding.js') as {
    binding: { InferenceSession: Binding['session'] };
    initOrt(): void;
  };
  native.initOrt();
  loaded = { session: native.binding.InferenceSession, tensor: api.Tensor };
  return loaded;
}
