import { TritonError } from '../../protocol/error.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import type { Tensor } from '../../protocol/tensor.js';
import type { BackendInstance, ExecutionRequest, ExecutionTimes } from '../backend.js';
import { batchInputTensors } from '../batch/batch-inputs.js';
import { gatherInputs, gatherOwned } from '../batch/gather.js';
import { scatterOutputs } from '../batch/scatter.js';
import { type ScatteredOutput, scatteredOutputs } from '../batch/scattered-outputs.js';
import type { InlineSession } from './inline-session.js';
import type { SessionWorker } from './session-worker.js';

/** Below this time of a run the way to the thread counts: several batches are then sent ahead. In ns. */
const SHORT_RUN_NS = 1_000_000;
const AHEAD = 4;

/**
 * One instance of an ONNX model: a session in a worker thread of its own, and for very fast models the shared session in
 * the main thread. The thread of a model that runs in the main thread starts when it is needed for the first time.
 */
export class OnnxInstance implements BackendInstance {
  readonly name: string;
  readonly #batches: boolean;
  readonly #ragged: ReadonlySet<string>;
  readonly #unfeedable: ReadonlySet<string>;
  readonly #batchInputs: ModelConfig['batch_input'];
  readonly #scattered: ReadonlyMap<string, ScatteredOutput>;
  readonly #stateOutputs: readonly string[];
  readonly #withStates = new WeakMap<readonly string[], readonly string[]>();
  readonly #inline: InlineSession | undefined;
  readonly #start: () => Promise<SessionWorker>;
  readonly #sortedNames = new WeakMap<readonly string[], readonly string[]>();
  #lastNames: readonly string[] = [];
  #lastSorted: readonly string[] = [];
  #worker: SessionWorker | undefined;
  #starting: Promise<SessionWorker> | undefined;
  #runNs = SHORT_RUN_NS;
  #closed = false;

  constructor(
    name: string,
    config: ModelConfig,
    unfeedable: ReadonlySet<string>,
    inline: InlineSession | undefined,
    worker: SessionWorker | undefined,
    start: () => Promise<SessionWorker>,
  ) {
    this.name = name;
    this.#batches = config.max_batch_size > 0;
    this.#ragged = new Set(config.input.filter((input) => input.allow_ragged_batch).map((input) => input.name));
    this.#unfeedable = unfeedable;
    this.#batchInputs = config.batch_input;
    this.#scattered = scatteredOutputs(config);
    this.#stateOutputs = [...new Set(config.sequence_batching?.state.map((state) => state.output_name))];
    this.#inline = inline;
    this.#worker = worker;
    this.#start = start;
  }

  get concurrency(): number {
    if (this.#inline?.active) return 1;
    return this.#runNs < SHORT_RUN_NS ? AHEAD : 1;
  }

  execute(batch: readonly ExecutionRequest[]): ExecutionTimes | Promise<ExecutionTimes> {
    if (this.#unfeedable.size > 0) this.#refuseStoredValues(batch);
    const outputs = this.#outputNames(batch);
    const bytes = byteSize(batch);
    if (!this.#inline?.accepts(bytes)) return this.#runInThread(batch, outputs, bytes);
    const inputs = this.#withBatchInputs(gatherInputs(batch, this.#ragged), batch);
    const result = this.#inline.run(inputs, outputs, bytes);
    scatterOutputs(batch, result.outputs, this.#batches, this.#scattered);
    return result.times;
  }

  async close(): Promise<void> {
    this.#closed = true;
    const worker = this.#worker ?? (await this.#starting?.catch(() => undefined));
    await worker?.close();
  }

  async #runInThread(
    batch: readonly ExecutionRequest[],
    outputs: readonly string[],
    bytes: number,
  ): Promise<ExecutionTimes> {
    const worker = this.#worker?.alive ? this.#worker : await this.#startWorker();
    const inputs = this.#withBatchInputs(gatherOwned(batch, this.#ragged), batch);
    const result = await worker.run(inputs, outputs);
    scatterOutputs(batch, result.outputs, this.#batches, this.#scattered);
    const { computeStart, computeEnd } = result.times;
    this.#runNs = 0.8 * this.#runNs + 0.2 * (computeEnd - computeStart);
    this.#inline?.learn(bytes, computeEnd - computeStart);
    return result.times;
  }

  #withBatchInputs(inputs: readonly Tensor[], batch: readonly ExecutionRequest[]): readonly Tensor[] {
    return this.#batchInputs.length === 0 ? inputs : [...inputs, ...batchInputTensors(this.#batchInputs, batch)];
  }

  /** Starts the thread, or another one after it died. */
  #startWorker(): Promise<SessionWorker> {
    if (this.#closed) throw new TritonError('UNAVAILABLE', `instance '${this.name}' is closed`);
    this.#starting ??= this.#start().then(
      (worker) => {
        this.#worker = worker;
        this.#starting = undefined;
        return worker;
      },
      (reason) => {
        this.#starting = undefined;
        throw reason;
      },
    );
    return this.#starting;
  }

  /** Outputs that some request of the batch wants, and states, in byte order of their names, as the server's responses have them. */
  #outputNames(batch: readonly ExecutionRequest[]): readonly string[] {
    const first = batch[0]!.requestedOutputs;
    let names = first;
    for (const request of batch) {
      if (request.requestedOutputs === first) continue;
      names = [...new Set([...names, ...request.requestedOutputs])];
    }
    if (this.#stateOutputs.length > 0) names = this.#addStates(names);
    // Requests that name no outputs share one list: the last one's order is nearly always the one that is asked for.
    if (names === this.#lastNames) return this.#lastSorted;
    let sorted = this.#sortedNames.get(names);
    if (sorted === undefined) {
      sorted = [...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      this.#sortedNames.set(names, sorted);
    }
    this.#lastNames = names;
    this.#lastSorted = sorted;
    return sorted;
  }

  #addStates(names: readonly string[]): readonly string[] {
    let all = this.#withStates.get(names);
    if (all === undefined) {
      all = [...new Set([...names, ...this.#stateOutputs])];
      this.#withStates.set(names, all);
    }
    return all;
  }

  #refuseStoredValues(batch: readonly ExecutionRequest[]): void {
    for (const request of batch) {
      const fed = request.inputs.find((input: Tensor) => this.#unfeedable.has(input.name));
      if (fed === undefined) continue;
      throw new TritonError(
        'UNSUPPORTED',
        `input '${fed.name}' has a stored value in the model, which onnxruntime cannot replace here; leave the input out`,
      );
    }
  }
}

function byteSize(batch: readonly ExecutionRequest[]): number {
  let bytes = 0;
  for (const request of batch) {
    for (const input of request.inputs) bytes += input.data.byteLength;
  }
  return bytes;
}
