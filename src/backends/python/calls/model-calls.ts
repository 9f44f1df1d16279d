import { TritonError } from '../../../base/error.js';
import type { BackendHost } from '../../../contract/backend.js';
import type { ReadyModel } from '../../../contract/engine.js';
import type { InferenceRequest, InferenceResponse, PendingRequest } from '../../../contract/request.js';
import type { RequestTrace } from '../../../contract/request-trace.js';
import type { PythonProcess } from '../process/python-process.js';
import type { FrameReader } from '../wire/frame-reader.js';
import { FrameWriter } from '../wire/frame-writer.js';
import { readParameters, readTensors, writeResponse } from '../wire/tensor-codec.js';
import { ToModel } from '../wire/wire.js';

/** What is left of an error's text that no frame can hold, in characters. */
const LONGEST_TEXT = 4096;

/** Calls of a Python model into other models. They are ordinary requests. */
export class ModelCalls {
  readonly #host: BackendHost | undefined;
  readonly #pending = new Map<number, PendingRequest>();
  /** What ends a call without waiting for the model that was called. */
  readonly #cancels = new Map<number, () => void>();
  /** Traces of requests that the model has, by key. */
  readonly #traces = new Map<number, RequestTrace>();

  constructor(host: BackendHost | undefined) {
    this.#host = host;
  }

  /** The model was given a request that is traced: its calls may be traced below it. */
  traced(key: number, trace: RequestTrace): void {
    this.#traces.set(key, trace);
  }

  /** The request of a key was answered. */
  untraced(key: number): void {
    if (this.#traces.size > 0) this.#traces.delete(key);
  }

  /** Begins a call; `abandoned`: the clients of all requests that the model has are gone, so it gets no response of a model. */
  begin(frame: FrameReader, process: PythonProcess, abandoned: boolean): void {
    const number = frame.u32();
    const decoupled = frame.u8() === 1;
    for (const region of frame.u64s()) process.memories.toModel.release(region);
    const modelName = frame.text();
    const version = frame.bigI64();
    const id = frame.text();
    const correlationId = frame.u8() === 1 ? frame.text() : frame.bigU64();
    const flags = frame.u32();
    const timeoutMicroseconds = frame.bigU64();
    const parameters = readParameters(frame);
    const requestedOutputs: string[] = [];
    for (let count = frame.u16(); count > 0; count--) requestedOutputs.push(frame.text());
    const inputs = readTensors(frame, process.memories);
    const parent = frame.u8() === 1 ? this.#traces.get(frame.u32()) : undefined;
    let over = false;
    const answer = (response: InferenceResponse | { outputs: []; error: TritonError } | undefined, final: boolean) => {
      // A process that was started after this one may have a call of the same number.
      if (process.ended || over) return;
      if (final) {
        over = true;
        this.#pending.delete(number);
        this.#cancels.delete(number);
      }
      sendResponse(process, number, response, final);
    };
    if (abandoned) {
      answer({ outputs: [], error: callerGone() }, true);
      return;
    }
    try {
      const model = this.#find(modelName, version, decoupled);
      const request: InferenceRequest = {
        id,
        inputs,
        requestedOutputs,
        parameters,
        correlationId,
        sequenceStart: (flags & 1) !== 0,
        sequenceEnd: (flags & 2) !== 0,
        priority: 0n,
        timeoutMicroseconds,
        trace: parent?.child(),
      };
      const pending = model.submit(request, answer);
      if (over) return;
      this.#pending.set(number, pending);
      this.#cancels.set(number, () => {
        answer({ outputs: [], error: callerGone() }, true);
        pending.cancel();
      });
    } catch (reason) {
      const text = `Model ${modelName} - Error when running inference: ${TritonError.from(reason).message}`;
      answer({ outputs: [], error: new TritonError('INTERNAL', text) }, true);
    }
  }

  /** Cancels a call. */
  cancel(number: number): void {
    this.#pending.get(number)?.cancel();
  }

  /**
   * Answers every call that is on its way with CANCELLED at once, for a model whose own clients are gone: a call that waits
   * for the model which made it would never be answered otherwise.
   */
  cancelAll(): void {
    for (const cancel of [...this.#cancels.values()]) cancel();
  }

  /** The process is gone: nobody waits for the calls' responses any more. */
  abandon(): void {
    for (const pending of this.#pending.values()) pending.cancel();
    this.#pending.clear();
    this.#cancels.clear();
  }

  #find(name: string, version: bigint, decoupled: boolean): ReadyModel {
    let model: ReadyModel;
    try {
      if (this.#host === undefined) throw new TritonError('UNAVAILABLE', 'no server');
      model = this.#host.engine.model(name, version < 0n ? '' : version.toString());
    } catch {
      const text = `Failed for execute the inference request. Model '${name}' is not ready.`;
      throw new TritonError('INTERNAL', text);
    }
    if (model.decoupled && !decoupled) {
      throw new TritonError(
        'INTERNAL',
        `Model ${name} is using the decoupled. The current BLS request call doesn't support models using the ` +
          "decoupled transaction policy. Please use 'decoupled=True' argument to the 'exec' or 'async_exec' calls for " +
          "decoupled models.'",
      );
    }
    return model;
  }
}

function callerGone(): TritonError {
  return new TritonError('CANCELLED', 'the client of the calling request is gone');
}

type CallResponse = InferenceResponse | { outputs: []; error: TritonError } | undefined;

/** Sends the response to a call; one that no frame can hold is an error response instead. */
function sendResponse(process: PythonProcess, number: number, response: CallResponse, final: boolean): void {
  const expected = (response?.outputs ?? []).reduce((sum, { data }) => sum + Math.min(data.byteLength, 32768), 512);
  const writer = new FrameWriter(ToModel.BLS_RESPONSE, expected);
  try {
    writer.u32(number);
    writer.u8(final ? 1 : 0);
    writer.u8(response === undefined ? 0 : 1);
    if (response !== undefined) writeResponse(writer, response, process.memories);
    const frame = writer.finish();
    process.checkLength(frame);
    process.control(frame);
  } catch (reason) {
    for (const region of writer.regions) process.memories.toModel.release(region);
    const failed = response?.error;
    // The call waits for a response, whatever the other model put into its own: a text that is too long is cut.
    const error = failed === undefined ? TritonError.from(reason) : shortened(failed, reason);
    sendResponse(process, number, { outputs: [], error }, final);
  }
}

/** The error with the begin of its text alone, which fits into every frame. Throws `reason` when it is as short already. */
function shortened({ code, message }: TritonError, reason: unknown): TritonError {
  if (message.length <= LONGEST_TEXT) throw reason;
  return new TritonError(code, `${message.slice(0, LONGEST_TEXT - 3)}...`);
}
