import { compareBytes } from '../../base/compare-bytes.js';
import { TritonError } from '../../base/error.js';
import type { BackendInstance, ExecutionRequest, ExecutionTimes } from '../../contract/backend.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import type { Tensor } from '../../protocol/tensor.js';
import { batchInputTensors } from '../batch/batch-inputs.js';
import { gatherInputs, gatherOwned } from '../batch/gather.js';
import { scatterOutputs } from '../batch/scatter.js';
import { type ScatteredOutput, scatteredOutputs } from '../batch/scattered-outputs.js';
import type { Placement } from './placement.js';
import type { RunResult } from './session/open-session.js';
import type { MainThreadRuns } from './threads/main-thread-runs.js';
import type { OwnThread } from './threads/own-thread.js';
import { type Lane, pool } from './threads/thread-pool.js';

/** Below this time of a run the way to the thread counts: several batches are then sent ahead. In ns. */
const SHORT_RUN_NS = 1_000_000;
const AHEAD = 4;

/** Where an instance can run its batches. */
export interface InstancePlaces {
  readonly placement: Placement;
  /** Runs on the main thread, for models that may earn them. */
  readonly main: MainThreadRuns | undefined;
  /** Its way into the shared threads, for models that may use them. */
  readonly lane: Lane | undefined;
  /** Its own thread, which starts when it is needed. */
  readonly own: OwnThread;
}

/** One instance of an ONNX model. */
export class OnnxInstance implements BackendInstance {
  readonly name: string;
  /** A graph has no memory: states of sequences are handed over only by a run that succeeded. */
  readonly repeatable = true;
  readonly #batches: boolean;
  readonly #ragged: ReadonlySet<string>;
  readonly #unfeedable: ReadonlySet<string>;
  readonly #batchInputs: ModelConfig['batch_input'];
  readonly #scattered: ReadonlyMap<string, ScatteredOutput>;
  /** Configured shapes of a model without batches, which its scalar outputs have on the wire. */
  readonly #scalarShapes: ReadonlyMap<string, readonly number[]>;
  readonly #stateOutputs: readonly string[];
  readonly #withStates = new WeakMap<readonly string[], readonly string[]>();
  readonly #places: InstancePlaces;
  readonly #sortedNames = new WeakMap<readonly string[], readonly string[]>();
  #lastNames: readonly string[] = [];
  #lastSorted: readonly string[] = [];
  #runNs = SHORT_RUN_NS;

  /** `unfeedable`: inputs with a stored value that cannot be replaced. */
  constructor(name: string, config: ModelConfig, unfeedable: ReadonlySet<string>, places: InstancePlaces) {
    this.name = name;
    this.#batches = config.max_batch_size > 0;
    this.#ragged = new Set(config.input.filter((input) => input.allow_ragged_batch).map((input) => input.name));
    this.#unfeedable = unfeedable;
    this.#batchInputs = config.batch_input;
    this.#scattered = scatteredOutputs(config);
    this.#scalarShapes = new Map(
      config.max_batch_size > 0 ? [] : config.output.map(({ name, dims }) => [name, dims.map(Number)]),
    );
    this.#stateOutputs = [...new Set(config.sequence_batching?.state.map((state) => state.output_name))];
    this.#places = places;
  }

  get concurrency(): number {
    if (this.#places.main?.active) return 1;
    return this.#runNs < SHORT_RUN_NS ? AHEAD : 1;
  }

  /** False for a while after its own thread has died: it is started again with a pause that grows. */
  get healthy(): boolean {
    return this.#places.placement.shared || this.#places.own.usable;
  }

  execute(batch: readonly ExecutionRequest[]): ExecutionTimes | Promise<ExecutionTimes> {
    if (this.#unfeedable.size > 0) this.#refuseStoredValues(batch);
    const outputs = this.#outputNames(batch);
    const { main } = this.#places;
    if (!main?.accepts(batch)) return this.#runInThread(batch, outputs);
    const result = main.run(this.#withBatchInputs(gatherInputs(batch, this.#ragged), batch), outputs);
    scatterOutputs(batch, this.#withoutScalars(result.outputs), this.#batches, this.#scattered);
    return result.times;
  }

  async close(): Promise<void> {
    await this.#places.own.close();
  }

  async #runInThread(batch: readonly ExecutionRequest[], outputs: readonly string[]): Promise<ExecutionTimes> {
    const { placement, main, lane, own } = this.#places;
    const inputs = this.#withBatchInputs(gatherOwned(batch, this.#ragged), batch);
    let result: RunResult;
    if (lane !== undefined && placement.shared) {
      result = await pool.run(lane, inputs, outputs);
      own.rest();
    } else result = await own.run(inputs, outputs);
    const runNs = result.times.computeEnd - result.times.computeStart;
    this.#runNs = 0.8 * this.#runNs + 0.2 * runNs;
    placement.ran(runNs);
    main?.learn(batch, runNs);
    scatterOutputs(batch, this.#withoutScalars(result.outputs), this.#batches, this.#scattered);
    return result.times;
  }

  #withBatchInputs(inputs: readonly Tensor[], batch: readonly ExecutionRequest[]): readonly Tensor[] {
    return this.#batchInputs.length === 0 ? inputs : [...inputs, ...batchInputTensors(this.#batchInputs, batch)];
  }

  /** Outputs that the model gives as scalars get the shape that the configuration says, which has one element, too. */
  #withoutScalars(outputs: readonly Tensor[]): readonly Tensor[] {
    for (let i = 0; i < outputs.length; i++) {
      const output = outputs[i]!;
      const shape = output.shape.length === 0 ? this.#scalarShapes.get(output.name) : undefined;
      if (shape !== undefined && shape.length > 0 && shape.every((dim) => dim === 1))
        return this.#withoutScalars(outputs.with(i, { ...output, shape: [...shape] }));
    }
    return outputs;
  }

  /** Outputs that some request of the batch wants, and states, in byte order of their names, as Triton's responses have them. */
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
      sorted = [...names].sort(compareBytes);
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
