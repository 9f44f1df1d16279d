/** One session of the runtime in the calling thread: opens a model and runs it. Every call blocks the thread. */
import { nowNs } from '../../../base/clock.js';
import { TritonError } from '../../../base/error.js';
import { readRegularFileSync, requireRegularFile } from '../../../base/files/read-regular-file.js';
import type { ExecutionTimes } from '../../../contract/backend.js';
import { takeStoredValues } from '../../../onnx/stored-values.js';
import type { Tensor } from '../../../protocol/tensor.js';
import {
  loadOrtBinding,
  type OrtSession,
  type OrtSessionOptions,
  type OrtTensor,
  type OrtValueInfo,
} from './ort-binding.js';
import { fromOrtTensor, toOrtTensor } from './ort-tensors.js';

/** Files of models with stored values that requests may replace are read whole; larger ones are not rewritten. */
export const MAX_REWRITTEN_BYTES = 512 * 2 ** 20;

/** Codes of the runtime by the phrases of its messages: the binding hands the text on without the code. */
const CODES: readonly (readonly [phrase: RegExp, code: number])[] = [
  [/Protobuf parsing failed/, 7],
  [/This is an invalid model/, 10],
  [/Could not find an implementation/, 9],
  [/Invalid output name/, 2],
];

/** What to open. Plain data: it travels to worker threads. */
export interface OpenRequest {
  /** The .onnx file. */
  readonly path: string;
  /** Its bytes where it may be opened again later: whatever happens to the file, the same model is opened. */
  readonly content?: Uint8Array;
  readonly options: OrtSessionOptions;
  readonly runOptions: { readonly extra?: Record<string, unknown> };
  /** Other files that it takes data from: like the model's own they are opened only where they are regular files. */
  readonly externalFiles?: readonly string[];
  /** Inputs with a stored value that requests may replace (stored-values.ts). */
  readonly replaceable?: readonly string[];
}

/** What a session says about its model. Plain data. */
export interface SessionInfo {
  readonly inputs: readonly OrtValueInfo[];
  readonly outputs: readonly OrtValueInfo[];
}

/** Outputs of one run, in the order of the names asked for. */
export interface RunResult {
  readonly outputs: readonly Tensor[];
  readonly times: ExecutionTimes;
}

/** An open session. */
export class OpenSession {
  readonly info: SessionInfo;
  readonly #session: OrtSession;
  readonly #runOptions: OpenRequest['runOptions'];
  /** Values of inputs that a request may leave out. */
  readonly #stored: readonly Tensor[];

  /** Throws `onnx runtime error <code>: ...`. */
  constructor(request: OpenRequest) {
    try {
      const { path, content, options, replaceable = [] } = request;
      if (content === undefined) for (const file of [path, ...(request.externalFiles ?? [])]) requireRegularFile(file);
      this.#session = new (loadOrtBinding().session)();
      if (replaceable.length === 0) {
        if (content === undefined) this.#session.loadModel(path, options);
        else {
          // The binding takes no shared memory.
          const copy = new Uint8Array(content);
          this.#session.loadModel(copy.buffer, 0, copy.byteLength, options);
        }
        this.#stored = [];
      } else {
        const bytes = content === undefined ? readRegularFileSync(path, MAX_REWRITTEN_BYTES) : Buffer.from(content);
        const { model, values } = takeStoredValues(bytes, new Set(replaceable));
        this.#session.loadModel(model.buffer, model.byteOffset, model.byteLength, request.options);
        this.#stored = values;
      }
    } catch (reason) {
      throw ortError(reason);
    }
    this.#runOptions = request.runOptions;
    const { inputMetadata, outputMetadata } = this.#session;
    this.info = { inputs: inputMetadata, outputs: outputMetadata };
  }

  /** Runs the model once. Names of inputs that the model does not have are ignored by the runtime: check before. */
  run(inputs: readonly Tensor[], outputNames: readonly string[]): RunResult {
    const computeStart = nowNs();
    const feeds: Record<string, OrtTensor> = {};
    for (const input of inputs) feeds[input.name] = toOrtTensor(input);
    for (const value of this.#stored) feeds[value.name] ??= toOrtTensor(value);
    const fetches: Record<string, null> = {};
    for (const name of outputNames) fetches[name] = null;
    const inputEnd = nowNs();
    let results: Record<string, OrtTensor>;
    try {
      results = this.#session.run(feeds, fetches, this.#runOptions);
    } catch (reason) {
      throw ortError(reason);
    }
    const outputStart = nowNs();
    const outputs = outputNames.map((name) => {
      const result = results[name];
      // The binding leaves out names that the model does not have, where the runtime itself refuses them.
      if (result === undefined) throw new TritonError('INTERNAL', `onnx runtime error 2: Invalid output name: ${name}`);
      return fromOrtTensor(name, result);
    });
    return { outputs, times: { computeStart, inputEnd, outputStart, computeEnd: nowNs() } };
  }

  /** Frees the model. */
  dispose(): void {
    this.#session.dispose();
  }
}

/** An error of the runtime in Triton's words: INTERNAL `onnx runtime error <code>: <text>`. */
function ortError(reason: unknown): TritonError {
  if (reason instanceof TritonError) return reason;
  const text = reason instanceof Error ? reason.message : String(reason);
  const code = CODES.find(([phrase]) => phrase.test(text))?.[1] ?? 1;
  return new TritonError('INTERNAL', `onnx runtime error ${code}: ${text}`, { cause: reason });
}
