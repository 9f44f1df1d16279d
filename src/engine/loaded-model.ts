import type { BackendModel } from '../backends/backend.js';
import type { ModelConfig } from '../protocol/proto/model-config.js';
import type { TensorMetadata } from '../protocol/tensor.js';
import { SYSTEM_CLOCK } from './clock.js';
import type { ReadyModel } from './engine-api.js';
import type { Log } from './log.js';
import type { ModelPlan } from './model-plan.js';
import { validateRequest } from './request/validate-request.js';
import type { InferenceRequest, PendingRequest, ResponseHandler } from './request.js';
import type { InstanceRunner } from './schedule/instance-runner.js';
import type { Scheduler } from './schedule/scheduler.js';
import { type StepCounted, Task, type TaskOwner } from './schedule/task.js';
import type { ModelStatistics } from './statistics/model-statistics.js';
import { enqueueTraced } from './trace/report.js';

/** Parts of a loaded version. */
export interface LoadedModelParts {
  readonly config: ModelConfig;
  /** The configuration before the backend completed it: what a later load is compared with. */
  readonly polledConfig: ModelConfig;
  readonly plan: ModelPlan;
  readonly labels: ReadonlyMap<string, readonly string[]>;
  readonly statistics: ModelStatistics;
  readonly backendModel: BackendModel;
  readonly runners: readonly InstanceRunner[];
  readonly scheduler: Scheduler;
  readonly log: Log;
}

/** One loaded version of a model: takes requests, knows how many are on their way, ends in an orderly manner. */
export class LoadedModel implements ReadyModel, TaskOwner {
  readonly name: string;
  readonly version: string;
  readonly config: ModelConfig;
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
  readonly polledConfig: ModelConfig;
  /** Instances that share the cores, for the thread budget. */
  instanceCount = 0;
  readonly #parts: LoadedModelParts;
  /** Traces show the inputs of a queued request, except where a sequence batcher takes it. */
  readonly #showsInputs: boolean;
  #outstanding = 0;
  #drained: (() => void)[] = [];
  #closed: Promise<void> | undefined;

  constructor(parts: LoadedModelParts) {
    const { config, plan } = parts;
    this.#parts = parts;
    this.#showsInputs = config.sequence_batching === undefined;
    this.name = config.name;
    this.version = plan.version;
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
    return this.#parts.runners.every((runner) => runner.instance.healthy ?? true);
  }

  /** Whether the version can be used; a promise where its instances ask the model itself. */
  checkReady(): boolean | Promise<boolean> {
    if (!this.healthy) return false;
    const checks = this.#parts.runners.flatMap(({ instance }) => instance.checkReady?.() ?? []);
    return checks.length === 0 ? true : Promise.all(checks).then((answers) => answers.every(Boolean));
  }

  submit(request: InferenceRequest, onResponse: ResponseHandler): PendingRequest {
    return this.#submit(request, onResponse);
  }

  /** Like `submit`, for a step of an ensemble: also tells when the statistics have counted the request. */
  submitStep(request: InferenceRequest, onResponse: ResponseHandler, onCounted: StepCounted): PendingRequest {
    return this.#submit(request, onResponse, onCounted);
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

  #submit(request: InferenceRequest, onResponse: ResponseHandler, onCounted?: StepCounted): PendingRequest {
    const validated = validateRequest(this.plan, request);
    const task = new Task(this, request, validated, onResponse, onCounted);
    if (task.trace === undefined) this.scheduler.enqueue(task);
    else enqueueTraced(task, task.trace, this, this.#showsInputs, (traced) => this.scheduler.enqueue(traced));
    this.#outstanding++;
    this.statistics.pending++;
    return task;
  }

  released(_task: Task): void {
    this.release();
  }

  /** Resolves when no request is on its way. */
  async drained(): Promise<void> {
    if (this.#outstanding > 0) await new Promise<void>((resolve) => this.#drained.push(resolve));
  }

  /** Waits for the requests on their way, then ends the instances and frees the version. Once only. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    await this.drained();
    this.scheduler.stop();
    this.scheduler.close();
    await Promise.all(this.#parts.runners.map((runner) => runner.instance.close()));
    await this.#parts.backendModel.unload();
  }
}
