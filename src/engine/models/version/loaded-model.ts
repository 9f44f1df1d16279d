import { SYSTEM_CLOCK } from '../../../base/clock.js';
import { TritonError } from '../../../base/error.js';
import type { Log } from '../../../base/log.js';
import type { BackendInstance, BackendModel, Pace } from '../../../contract/backend.js';
import type { ReadyModel } from '../../../contract/engine.js';
import type { InferenceRequest, PendingRequest, ResponseHandler } from '../../../contract/request.js';
import type { ModelPlan } from '../../../modelconfig/plan/model-plan.js';
import type { ModelConfig } from '../../../protocol/proto/model-config.js';
import type { TensorMetadata } from '../../../protocol/tensor.js';
import type { LocalCache } from '../../cache/local-cache.js';
import type { Member } from '../../ensemble/member.js';
import { RequestLog } from '../../request/request-log.js';
import type { RequestMemory } from '../../request/request-memory.js';
import { validateRequest } from '../../request/validate-request.js';
import type { InstanceRunner } from '../../schedule/instance-runner.js';
import type { Scheduler } from '../../schedule/scheduler.js';
import { type StepCounted, Task, type TaskOwner } from '../../schedule/task.js';
import { enqueueTraced } from '../../schedule/task-trace.js';
import type { ModelStatistics } from '../../statistics/model-statistics.js';
import { endHung } from './end-hung.js';
import { activeRunners, closeInstances, type ModelInstance } from './model-instances.js';

/** Parts of a loaded version. */
export interface LoadedModelParts {
  readonly config: ModelConfig;
  /** The configuration before the backend completed it: what a later load is compared with. */
  readonly polledConfig: ModelConfig;
  readonly plan: ModelPlan;
  readonly labels: ReadonlyMap<string, readonly string[]>;
  readonly statistics: ModelStatistics;
  readonly backendModel: BackendModel;
  readonly instances: readonly ModelInstance[];
  readonly scheduler: Scheduler;
  readonly log: Log;
  /** From `nextLoadNumber`. */
  readonly loadNumber: number;
  /** The response cache, where the server has one: what it keeps of this version goes with it. */
  readonly cache: LocalCache | undefined;
  /** Counts the requests of clients; absent = they are not limited. */
  readonly requestMemory: RequestMemory | undefined;
  /** Instances that should end are killed after so long without a sign of life, in ms; 0 = never. */
  readonly unloadTimeoutMs: number;
}

let loads = 0;

/** Another number for each load of a version in this process: which of two loads under one name is meant. */
export function nextLoadNumber(): number {
  return ++loads;
}

/** One loaded version of a model: takes requests, knows how many are on their way, ends in an orderly manner. */
export class LoadedModel implements ReadyModel, Member, TaskOwner {
  readonly name: string;
  readonly version: string;
  readonly loadNumber: number;
  /** Changes with an update of the instances only. */
  config: ModelConfig;
  readonly platform: string;
  readonly maxBatchSize: number;
  readonly decoupled: boolean;
  readonly inputs: readonly TensorMetadata[];
  readonly outputs: readonly TensorMetadata[];
  readonly plan: ModelPlan;
  readonly statistics: ModelStatistics;
  readonly scheduler: Scheduler;
  readonly log: Log;
  readonly clock = SYSTEM_CLOCK;
  polledConfig: ModelConfig;
  /** Instances that share the cores, for the thread budget. */
  instanceCount = 0;
  readonly #parts: LoadedModelParts;
  /** Traces show the inputs of a queued request, except where a sequence batcher takes it. */
  /** True where the scheduler reports the inputs of a traced request (sequence batchers do not). */
  readonly showsInputs: boolean;
  #instances: readonly ModelInstance[];
  /** Instances that were replaced and are being ended. */
  readonly #retiring = new Map<InstanceRunner, Promise<void>>();
  #outstanding = 0;
  #drained: (() => void)[] = [];
  #closed: Promise<void> | undefined;

  constructor(parts: LoadedModelParts) {
    const { config, plan } = parts;
    this.#parts = parts;
    this.showsInputs = config.sequence_batching === undefined;
    this.#instances = parts.instances;
    this.name = config.name;
    this.version = plan.version;
    this.loadNumber = parts.loadNumber;
    this.config = config;
    this.polledConfig = parts.polledConfig;
    this.platform = config.platform === '' ? config.backend : config.platform;
    this.maxBatchSize = plan.maxBatchSize;
    this.decoupled = plan.decoupled;
    this.inputs = plan.metadataInputs;
    this.outputs = plan.metadataOutputs;
    this.plan = plan;
    this.statistics = parts.statistics;
    this.scheduler = parts.scheduler;
    this.log = parts.log;
  }

  labels(output: string): readonly string[] | undefined {
    return this.#parts.labels.get(output);
  }

  /** Requests accepted whose final response has not gone out. */
  get outstanding(): number {
    return this.#outstanding;
  }

  /** True when every instance can still execute. */
  get healthy(): boolean {
    return this.#instances.every(({ runner }) => runner.instance.healthy ?? true);
  }

  /** Whether the version can be used; a promise where its instances ask the model itself. */
  checkReady(): boolean | Promise<boolean> {
    if (!this.healthy) return false;
    const checks = this.#instances.flatMap(({ runner }) => runner.instance.checkReady?.() ?? []);
    return checks.length === 0 ? true : Promise.all(checks).then((answers) => answers.every(Boolean));
  }

  /** Adds the load numbers of all that answers requests to this version: its own and those of its members. */
  addLoads(into: Set<number>): void {
    if (into.has(this.loadNumber)) return;
    into.add(this.loadNumber);
    this.scheduler.addMemberLoads?.(into);
  }

  submit(request: InferenceRequest, onResponse: ResponseHandler): PendingRequest {
    return this.#submit(request, onResponse);
  }

  /** Like `submit`, for a step of an ensemble: `onCounted` is called when the statistics have counted the request; `pace` slows it down. */
  submitStep(request: InferenceRequest, onResponse: ResponseHandler, onCounted: StepCounted, pace?: Pace): Task {
    return this.#submit(request, onResponse, onCounted, pace);
  }

  /** Keeps the version loaded until `release`: a request of an ensemble will come back to it. */
  hold(): void {
    this.#outstanding++;
  }

  /** Ends a `hold`. */
  release(): void {
    this.#outstanding--;
    if (this.#outstanding > 0) return;
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  #submit(request: InferenceRequest, onResponse: ResponseHandler, onCounted?: StepCounted, pace?: Pace): Task {
    const validated = validateRequest(this.plan, request);
    const task = new Task(this, request, validated, onResponse, onCounted, pace);
    const memory = onCounted === undefined ? this.#parts.requestMemory : undefined;
    if (memory !== undefined) task.heldBytes = memory.admit(request.id, validated.inputs);
    if (this.log.isVerbose?.(1)) {
      const levels = this.config.dynamic_batching?.priority_levels ?? 0n;
      task.verbose = new RequestLog(this.log, { plan: this.plan, levels }, request, validated);
    }
    try {
      if (task.trace === undefined && task.verbose === undefined) this.scheduler.enqueue(task);
      else this.#enqueueWatched(task);
    } catch (reason) {
      memory?.release(task.heldBytes);
      throw reason;
    }
    this.#outstanding++;
    this.statistics.series.pending++;
    return task;
  }

  /** Queues a request that is traced or that the verbose log reports. */
  #enqueueWatched(task: Task): void {
    task.verbose?.enter('PENDING');
    try {
      if (task.trace === undefined) this.scheduler.enqueue(task);
      else enqueueTraced(task, task.trace, this, (traced) => this.scheduler.enqueue(traced));
    } catch (reason) {
      task.verbose?.enter('FAILED_ENQUEUE');
      throw reason;
    }
  }

  released({ heldBytes }: Task): void {
    if (heldBytes > 0) this.#parts.requestMemory?.release(heldBytes);
    this.release();
  }

  /** What holds the loaded files, for making further instances. */
  get backendModel(): BackendModel {
    return this.#parts.backendModel;
  }

  /** The instances that serve, in the configuration's order; passive ones included. */
  get instances(): readonly ModelInstance[] {
    return this.#instances;
  }

  /**
   * Other instances serve from now on; resolves when those that are left out have ended after what they were given, except
   * where they have sequences.
   */
  async setInstances(
    config: ModelConfig,
    polledConfig: ModelConfig,
    instances: readonly ModelInstance[],
  ): Promise<void> {
    const removed = this.#instances.filter((instance) => !instances.includes(instance));
    this.config = config;
    this.polledConfig = polledConfig;
    this.#instances = instances;
    this.scheduler.setRunners?.(activeRunners(instances), (runner) => this.#retire(runner));
    for (const { passive, runner } of removed) if (passive) this.#retire(runner);
    const retiring = removed.flatMap(({ runner }) => this.#retiring.get(runner) ?? []);
    // An instance with sequences stays as long as they do, which is up to their clients: nobody waits for that.
    if (retiring.length > 0 && config.sequence_batching === undefined) await this.#watched(Promise.all(retiring));
  }

  #retire(runner: InstanceRunner): void {
    const ended = runner
      .drained()
      .then(() => runner.close())
      .catch((reason) => this.log.error(`failed to end '${runner.instance.name}': ${TritonError.from(reason).message}`))
      .then(() => void this.#retiring.delete(runner));
    this.#retiring.set(runner, ended);
  }

  /** Every instance that has not ended. */
  *runningInstances(): Iterable<BackendInstance> {
    for (const { runner } of this.#instances) yield runner.instance;
    for (const { instance } of this.#retiring.keys()) yield instance;
  }

  /** Waits for something that instances may hold up by hanging: such an instance is killed then. */
  async #watched(end: Promise<unknown>): Promise<void> {
    const stop = endHung(() => this.#endingInstances(), this.#parts.unloadTimeoutMs, this.log);
    try {
      await end;
    } finally {
      stop();
    }
  }

  *#endingInstances(): Iterable<BackendInstance> {
    if (this.#closed !== undefined) yield* this.runningInstances();
    else for (const { instance } of this.#retiring.keys()) yield instance;
  }

  /** Resolves when no request is on its way. */
  async drained(): Promise<void> {
    if (this.#outstanding > 0) await new Promise<void>((resolve) => this.#drained.push(resolve));
  }

  /** Waits for the requests on their way, then ends the instances and frees the version. Once only. */
  close(): Promise<void> {
    this.#closed ??= this.#watched(this.#close());
    return this.#closed;
  }

  async #close(): Promise<void> {
    await this.drained();
    this.scheduler.stop();
    this.scheduler.close();
    this.#parts.cache?.forget(this.loadNumber);
    try {
      await Promise.all([closeInstances(this.#instances), ...this.#retiring.values()]);
    } finally {
      await this.#parts.backendModel.unload();
    }
  }
}
