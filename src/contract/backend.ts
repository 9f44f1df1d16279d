/**
 * What a backend is: it completes configurations, loads one version of a model, makes instances of it, and executes
 * batches. Schedulers, statistics, validation of requests and lifecycle are the engine's.
 */

import type { TritonError } from '../base/error.js';
import type { Log } from '../base/log.js';
import type { InstanceKind, ModelConfig } from '../protocol/proto/model-config.js';
import type { EnumName } from '../protocol/proto/schema.js';
import type { Parameters, Tensor } from '../protocol/tensor.js';
import type { InferenceEngine } from './engine.js';
import type { MetricFamilies } from './metrics.js';
import type { RequestTrace } from './request-trace.js';

/** Server-wide settings that backends see. */
export interface BackendOptions {
  /** `--backend-config=<backend>,<key>=<value>` of this backend, global settings merged in. */
  readonly config: ReadonlyMap<string, string>;
  /** False with --disable-auto-complete-config. */
  readonly autoComplete: boolean;
  /** Cores to be divided over all instances of all models. */
  readonly threadBudget: number;
  readonly log: Log;
  /** Aborted when the load is given up: what it began should end soon, nothing of it may stay. */
  readonly cancelled?: AbortSignal;
  /** What models may ask of the server that runs them; absent where there is none (the checker, tests). */
  readonly host?: BackendHost;
}

/** The server, as models see it: calls of other models, model control, metrics of their own. */
export interface BackendHost {
  readonly engine: Pick<InferenceEngine, 'model' | 'isModelReady' | 'load' | 'unload'>;
  readonly metrics: MetricFamilies;
}

/** Where one version of a model lies. */
export interface ModelLocation {
  /** `<repository>/<model>` */
  readonly modelDirectory: string;
  /** `<repository>/<model>/<version>` */
  readonly versionDirectory: string;
  readonly name: string;
  /** Version number as text. */
  readonly version: string;
}

/** The code of a backend: onnxruntime, identity, python, ... What is known of it without its code is in its traits. */
export interface Backend {
  /** Completes `config` from the model's file; returns a new configuration. Called before normalisation's second pass. */
  autoComplete?(location: ModelLocation, config: ModelConfig, options: BackendOptions): Promise<ModelConfig>;
  /** Loads one version. Rejects with the TritonError that becomes the version's state reason. */
  load(location: ModelLocation, config: ModelConfig, options: BackendOptions): Promise<BackendModel>;
}

/** One loaded version of a model. */
export interface BackendModel {
  /**
   * Makes one instance; `name` is `<group name>_<index>`. The engine makes as many as the configuration says. `cancelled` is
   * aborted when it is not wanted any more.
   */
  createInstance(spec: InstanceSpec, cancelled?: AbortSignal): Promise<BackendInstance>;
  /** Frees what the version holds, after every instance was closed. */
  unload(): Promise<void>;
}

/** What an instance should be. */
export interface InstanceSpec {
  readonly name: string;
  readonly kind: Exclude<EnumName<typeof InstanceKind>, 'KIND_AUTO'>;
  /** GPU id for KIND_GPU, else 0. */
  readonly deviceId: number;
  /** Threads that this instance may use inside one execution (its share of the budget). */
  readonly threads: number;
}

/**
 * One instance: executes one batch at a time from the scheduler's view, unless `concurrency` is greater than 1 (an
 * instance behind a thread hop keeps its thread busy by accepting the next batch while one runs).
 */
export interface BackendInstance {
  readonly name: string;
  /** Batches that may be in flight at once. 1 for most; asked again for each batch. */
  readonly concurrency: number;
  /** False once the instance cannot execute any more: its model then counts as not ready. Absent = always true. */
  readonly healthy?: boolean;
  /**
   * True: executing a request again has no other effect than executing it once. When a batch fails, its requests are then
   * executed one by one, so that one that cannot be executed fails alone. Absent = false.
   */
  readonly repeatable?: boolean;
  /** Asks the model itself whether it is ready, where it has a say (else undefined); false also when it takes too long. */
  checkReady?(): Promise<boolean> | undefined;
  /**
   * Executes a batch. Every request must be answered through its `respond` (final exactly once), before or after the
   * promise settles (decoupled models answer later). A rejection answers every request of the batch that has no final
   * response yet with that error. The times are for the statistics of the whole batch. An instance that is done when the
   * call returns answers with the times themselves (no turn of the event loop is lost); it may throw like it may reject.
   */
  execute(batch: readonly ExecutionRequest[]): Promise<ExecutionTimes> | ExecutionTimes;
  /** Ends the instance after its running batches; resolves when its thread or process is gone. */
  close(): Promise<void>;
  /** Time in ms without a sign of life while it has work or is being closed; else 0. */
  readonly silentMs?: number;
  /** True when it has requests and the clients of all of them are gone. */
  readonly abandoned?: boolean;
  /** Ends it at once, its requests fail; absent where that is not possible. */
  kill?(): Promise<void>;
}

/** A request as a backend sees it: validated, reshaped, control tensors added. */
export interface ExecutionRequest {
  readonly id: string;
  /** 1 or more; non-batching models always 1. */
  readonly batchSize: number;
  /** Shapes as the backend expects them (after `reshape`, with the batch dimension if the model batches). */
  readonly inputs: readonly Tensor[];
  readonly requestedOutputs: readonly string[];
  readonly parameters: Parameters;
  readonly correlationId: bigint | string;
  readonly sequenceStart: boolean;
  readonly sequenceEnd: boolean;
  readonly priority: bigint;
  readonly timeoutMicroseconds: bigint;
  /** Set when the request is traced. */
  readonly trace?: RequestTrace | undefined;
  /** True once the client went away or cancelled; long-running backends poll it. */
  readonly cancelled: boolean;
  /** Set by a backend that wants to hear at once when the client goes away or cancels. */
  onCancelled?: (() => void) | undefined;
  /** Where the new values of its sequence's implicit state go; absent where the model has none. */
  readonly state?: SequenceState | undefined;
  /** Set when the receiver of many responses cannot take them faster than it works them off. */
  readonly pace?: Pace | undefined;
  /** Sends a response. Outputs carry the backend's shapes; the engine maps `reshape` back. */
  respond(response: ExecutionResponse | undefined, final: boolean): void;
  /**
   * Says before `execute` ends that the request is to be executed again instead of being answered finally (iterative
   * sequences). Where the model is not configured for that it is answered with an error.
   */
  reschedule(): void;
}

/** How fast a receiver takes responses. A backend that can wait asks after each response that is not the last. */
export interface Pace {
  /** Undefined: the next response may come; otherwise resolves when it may. */
  ready(): Promise<void> | undefined;
}

/** The implicit state of a request's sequence: what the model puts out is what the sequence's next request is fed. */
export interface SequenceState {
  /** Names of the model's outputs that are states. */
  readonly outputs: readonly string[];
  /** Takes the new value of one, the rows of the request alone. Throws INVALID_ARG for a name that is not a state. */
  update(output: Tensor): void;
}

/** One response of a backend to one request. */
export interface ExecutionResponse {
  readonly outputs: readonly Tensor[];
  readonly parameters?: Parameters;
  readonly error?: TritonError;
  /** True: the error is a response of the model's own and counts as a success in all statistics. */
  readonly countsAsSuccess?: boolean;
}

/** Points of one execution on the clock of base/clock.ts, in ns. */
export interface ExecutionTimes {
  readonly computeStart: number;
  readonly inputEnd: number;
  readonly outputStart: number;
  readonly computeEnd: number;
  /** True: the execution failed as a whole, but it took place and counts as one; its requests have been answered. */
  readonly failed?: boolean;
  /** True: requests without a final response are answered later, also those of models that are not decoupled. */
  readonly answersLater?: boolean;
}
