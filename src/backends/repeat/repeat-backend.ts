/**
 * The built-in `repeat` backend: a decoupled model for trying out streams. A request has IN (INT32 [n]), DELAY (UINT32
 * [n], milliseconds before each response) and WAIT (UINT32 [1], milliseconds until the next request may begin); every
 * element of IN comes back as a response of its own, OUT with its place in IDX. No model file.
 */
import { nowNs } from '../../base/clock.js';
import { invalidArg } from '../../base/error.js';
import type {
  Backend,
  BackendInstance,
  BackendModel,
  ExecutionRequest,
  ExecutionTimes,
  ModelLocation,
} from '../../contract/backend.js';
import { formatShape } from '../../protocol/datatype.js';
import { DataType, type ModelConfig } from '../../protocol/proto/model-config.js';
import { enumName } from '../../protocol/proto/schema.js';
import type { Tensor } from '../../protocol/tensor.js';
import { aligned } from '../batch/gather.js';

/** The backend, as the registry finds it. */
export const backend: Backend = {
  async load(_location: ModelLocation, config: ModelConfig): Promise<BackendModel> {
    checkConfig(config);
    return { createInstance: async ({ name }) => new RepeatInstance(name), unload: async () => {} };
  },
};

const INPUTS = [
  ['IN', 'INT32', 'first'],
  ['DELAY', 'UINT32', 'second'],
  ['WAIT', 'UINT32', 'third'],
] as const;
const OUTPUTS = [
  ['OUT', 'INT32', 'first'],
  ['IDX', 'UINT32', 'second'],
] as const;

/** Throws INVALID_ARG with Triton's message for what is not the one signature that the backend has. */
function checkConfig({ max_batch_size, input, output }: ModelConfig): void {
  const check = (good: boolean, text: string): void => {
    if (!good) throw invalidArg(text);
  };
  check(max_batch_size === 0, 'repeat backend only supports models with max_batch_size == 0');
  check(input.length === 3, `expected 3 inputs, got ${input.length}`);
  check(output.length === 2, `expected 2 outputs, got ${output.length}`);
  const sides = [
    ['input', input, INPUTS],
    ['output', output, OUTPUTS],
  ] as const;
  for (const [side, tensors, expected] of sides) {
    for (const [i, [name, , place]] of expected.entries()) {
      const got = tensors[i]!.name;
      check(got === name, `expected ${place} ${side} tensor name to be ${name}, got ${got}`);
    }
  }
  const shape = (tensor: { readonly dims: readonly bigint[] } | undefined): string => formatShape(tensor?.dims ?? []);
  const [inShape, delayShape] = [shape(input[0]), shape(input[1])];
  check(input[0]!.dims.length === 1, `expected IN shape to have one dimension, got ${inShape}`);
  check(inShape === delayShape, `expected IN and DELAY shape to match, got ${inShape} and ${delayShape}`);
  for (const tensor of [input[2]!, ...output]) {
    check(shape(tensor) === '[1]', `expected ${tensor.name} shape to be [1], got ${shape(tensor)}`);
  }
  for (const [, tensors, expected] of sides) {
    for (const [i, [name, type]] of expected.entries()) {
      const got = enumName(DataType, tensors[i]!.data_type) ?? '';
      check(got === `TYPE_${type}`, `expected ${name} datatype to be ${type}, got ${got}`);
    }
  }
}

class RepeatInstance implements BackendInstance {
  readonly concurrency = 1;
  #repeating = new Set<Promise<void>>();

  constructor(readonly name: string) {}

  async execute(batch: readonly ExecutionRequest[]): Promise<ExecutionTimes> {
    const computeStart = nowNs();
    let waitMs = 0;
    for (const request of batch) {
      const repeating = repeat(request).finally(() => this.#repeating.delete(repeating));
      this.#repeating.add(repeating);
      waitMs = Math.max(waitMs, numbers(request, 'WAIT')[0] ?? 0);
    }
    if (waitMs > 0) await sleep(waitMs);
    const computeEnd = nowNs();
    return { computeStart, inputEnd: computeStart, outputStart: computeEnd, computeEnd, answersLater: true };
  }

  async close(): Promise<void> {
    await Promise.all(this.#repeating);
  }
}

/** Number of responses after which everything else gets its turn. */
const TURN = 64;

/** Answers every element of IN in its turn, then ends; a client that went away gets no more. */
async function repeat(request: ExecutionRequest): Promise<void> {
  const values = numbers(request, 'IN');
  const delays = numbers(request, 'DELAY');
  if (values.length !== delays.length) {
    const text = `expected IN and DELAY shape to match, got [${values.length}] and [${delays.length}]`;
    request.respond({ outputs: [], error: invalidArg(text) }, true);
    return;
  }
  for (const [index, value] of values.entries()) {
    const delay = delays[index]!;
    if (delay > 0) await sleep(delay, request);
    if (request.cancelled) break;
    const outputs = [one('OUT', 'INT32', Int32Array.of(value)), one('IDX', 'UINT32', Uint32Array.of(index))];
    request.respond({ outputs: outputs.filter(({ name }) => request.requestedOutputs.includes(name)) }, false);
    await request.pace?.ready();
    if (index % TURN === TURN - 1) await new Promise((resolve) => setImmediate(resolve));
  }
  request.respond(undefined, true);
}

function numbers(request: ExecutionRequest, name: string): Int32Array | Uint32Array {
  const tensor = request.inputs.find((input) => input.name === name);
  if (tensor === undefined) return new Int32Array(0);
  const { buffer, byteOffset, byteLength } = aligned(tensor);
  const count = byteLength / 4;
  return name === 'IN' ? new Int32Array(buffer, byteOffset, count) : new Uint32Array(buffer, byteOffset, count);
}

function one(name: string, datatype: 'INT32' | 'UINT32', value: Int32Array | Uint32Array): Tensor {
  return { name, datatype, shape: [1], data: new Uint8Array(value.buffer) };
}

/** The longest that a timer of Node can wait, in ms: 24 days. */
const LONGEST_MS = 2 ** 31 - 1;

/** Waits, but no longer than the client of a request does: a timer of days must not outlive its request. */
function sleep(ms: number, request?: ExecutionRequest): Promise<void> {
  return new Promise((resolve) => {
    const wake = (): void => {
      clearTimeout(timer);
      if (request !== undefined) request.onCancelled = undefined;
      resolve();
    };
    const timer = setTimeout(wake, Math.min(ms, LONGEST_MS));
    if (request === undefined) return;
    request.onCancelled = wake;
    if (request.cancelled) wake();
  });
}
