import type { InferCall, InferenceServerClient, InferInput, PreparedCall } from '../../client/index.js';
import type { InputStep, StepTensor } from '../input/input-data.js';
import type { LoadSetup } from './load-messages.js';
import { inputRegion } from './region-names.js';

/** Which data a request carries and how it is named. */
export interface RequestPlan {
  readonly stream: number;
  /** First step of the batch. */
  readonly step: number;
  /** '' = none (synchronous calls). */
  readonly id: string;
  /** 0 = the request belongs to no sequence. */
  readonly sequenceId: number;
  readonly sequenceStart: boolean;
  readonly sequenceEnd: boolean;
}

/**
 * Makes requests from the input data. What is the same in every request with the same data is made once; without id and
 * sequence the whole request is encoded once.
 */
export class RequestMaker {
  readonly #setup: LoadSetup;
  readonly #calls = new Map<string, InferCall>();

  constructor(setup: LoadSetup) {
    this.#setup = setup;
  }

  /** Number of steps of a stream; 0 when there is no such stream. */
  stepsOf(stream: number): number {
    return this.#setup.data.streams[stream]?.length ?? 0;
  }

  /** The request for the plan. Throws when there is no data for an input. */
  call(plan: RequestPlan): InferCall {
    const key = `${plan.stream}:${plan.step}`;
    let base = this.#calls.get(key);
    if (base === undefined) {
      base = this.#makeCall(plan.stream, plan.step);
      this.#calls.set(key, base);
    }
    if (plan.sequenceId === 0) return { ...base, id: plan.id };
    const { sequenceId, sequenceStart, sequenceEnd } = plan;
    return { ...base, id: plan.id, sequenceId, sequenceStart, sequenceEnd };
  }

  /** Output bytes to expect for a batch that begins at the step; undefined when nothing is known. */
  expected(stream: number, step: number): ReadonlyMap<string, Uint8Array> | undefined {
    const batch = this.#batch(stream, step).map((each) => each.expected ?? []);
    const names = (batch[0] ?? []).map((tensor) => tensor.name);
    if (names.length === 0) return undefined;
    return new Map(
      names.map((name, i) => [name, Buffer.concat(batch.map((tensors) => (tensors[i] as StepTensor).data))]),
    );
  }

  #batch(stream: number, step: number): InputStep[] {
    const steps = this.#setup.data.streams[stream] ?? [];
    return Array.from({ length: this.#setup.batchSize }, (_, i) => steps[(step + i) % steps.length] as InputStep);
  }

  #makeCall(stream: number, step: number): InferCall {
    const { modelName, modelVersion, outputs, parameters } = this.#setup;
    return { modelName, modelVersion, inputs: this.inputs(stream, step), outputs, parameters };
  }

  /** The inputs of the batch that begins at a step. Throws when there is no data for an input. */
  inputs(stream: number, step: number): InferInput[] {
    const { batching, batchSize, sharedMemory } = this.#setup;
    const [firstInput] = this.#setup.inputs;
    if (this.stepsOf(stream) === 0) throw new Error(`unable to find data for input '${firstInput?.name ?? ''}'.`);
    const batch = this.#batch(stream, step);
    return (batch[0] as InputStep).inputs.map(({ name, shape }, i) => {
      const input = this.#setup.inputs.find((each) => each.name === name);
      if (input === undefined) throw new Error(`the model has no input '${name}'`);
      const parts = batch.map((each) => each.inputs[i] as StepTensor);
      const whole = batching && !input.isShapeTensor;
      const data =
        whole && batchSize > 1 ? Buffer.concat(parts.map((part) => part.data)) : (parts[0] as StepTensor).data;
      const tensor = { name, datatype: input.datatype, shape: whole ? [batchSize, ...shape] : shape };
      if (!sharedMemory) return { ...tensor, data };
      return { ...tensor, sharedMemory: { region: inputRegion(name, stream, step), byteSize: data.length } };
    });
  }
}

/** Every gRPC request of perf_analyzer asks for this, whether its model is decoupled or not. */
const COMPLETION = { enableEmptyFinalResponse: true };

/** Requests of one client that are always the same, encoded once each. */
export class PreparedRequests {
  readonly #client: InferenceServerClient;
  readonly #maker: RequestMaker;
  readonly #prepared: PreparedCall[] = [];

  constructor(client: InferenceServerClient, maker: RequestMaker) {
    this.#client = client;
    this.#maker = maker;
  }

  /** The encoded request: kept when it has neither id nor sequence. */
  get(plan: RequestPlan): PreparedCall {
    if (plan.id !== '' || plan.sequenceId !== 0 || plan.stream !== 0) {
      return this.#client.prepare(this.#maker.call(plan), COMPLETION);
    }
    let prepared = this.#prepared[plan.step];
    if (prepared === undefined) {
      prepared = this.#client.prepare(this.#maker.call(plan), COMPLETION);
      this.#prepared[plan.step] = prepared;
    }
    return prepared;
  }
}
