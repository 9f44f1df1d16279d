import { silentLog } from '../../../src/base/log.js';
import type { BackendInstance, ExecutionRequest, ExecutionTimes } from '../../../src/contract/backend.js';
import type { InferenceRequest } from '../../../src/contract/request.js';
import { createScheduler } from '../../../src/engine/models/version/create-scheduler.js';
import { validateRequest } from '../../../src/engine/request/validate-request.js';
import { InstanceRunner } from '../../../src/engine/schedule/instance-runner.js';
import type { Scheduler } from '../../../src/engine/schedule/scheduler.js';
import { Task, type TaskOwner } from '../../../src/engine/schedule/task.js';
import { ModelStatistics } from '../../../src/engine/statistics/model-statistics.js';
import { newFailureCounts } from '../../../src/engine/statistics/version-counters.js';
import { normalizeModelConfig } from '../../../src/modelconfig/complete/normalize.js';
import { readPbtxt } from '../../../src/modelconfig/pbtxt/read-pbtxt.js';
import { compileModelPlan, type ModelPlan } from '../../../src/modelconfig/plan/model-plan.js';
import { int32, makeRequest } from './engine-harness.js';
import { VirtualClock } from './virtual-clock.js';

const MS = 1e6;

/** A batch that an instance was given. Times in ms since the beginning. */
export interface LabExecution {
  readonly instance: string;
  readonly ids: readonly string[];
  readonly rows: number;
  readonly start: number;
  end: number;
}

/** How a request was answered; `text` is that of its error. Time in ms since the beginning. */
export interface LabAnswer {
  readonly id: string;
  readonly at: number;
  readonly code: string | undefined;
  readonly text: string;
}

/** A request of a simulation, beside what the server sees of it. */
export interface LabRequest extends Partial<InferenceRequest> {
  /** Time that a batch with it takes, in ms. Default 10; the largest of a batch counts. */
  readonly ms?: number;
  readonly rows?: number;
  /** Elements of the input IN behind the batch dimension. Default 1. */
  readonly width?: number;
  /** Sends the input MORE too. */
  readonly more?: boolean;
  /** The batch that it is in fails. */
  readonly fails?: boolean;
}

/** One model's scheduler on a virtual time, with instances that record what they are given. */
export class SchedulerLab {
  readonly clock = new VirtualClock();
  readonly executions: LabExecution[] = [];
  /** Ids of the requests that instances were given. */
  readonly begun = new Set<string>();
  /** In the order of arrival at the client. */
  readonly answers: LabAnswer[] = [];
  readonly statistics = new ModelStatistics(newFailureCounts());
  readonly scheduler: Scheduler;
  readonly plan: ModelPlan;
  readonly runners: InstanceRunner[] = [];
  /** Instances can execute requests again that failed. */
  readonly repeatable: boolean;
  /** Names of instances that fail every batch at once and are not healthy. */
  readonly dead = new Set<string>();
  readonly #owner: TaskOwner;
  readonly #requests = new Map<string, LabRequest>();
  readonly #begin: number;

  /** `text`: a configuration without name, backend and instances. */
  constructor(text: string, instances = 1, repeatable = false) {
    this.repeatable = repeatable;
    this.#begin = this.clock.nowNs();
    const { config: read, errors } = readPbtxt(`name: "m" backend: "lab" ${text}`);
    if (errors.length > 0) throw new Error(JSON.stringify(errors));
    const config = normalizeModelConfig(read);
    this.plan = compileModelPlan(config, '1');
    const { plan, statistics, clock } = this;
    for (let i = 0; i < instances; i++) this.runners.push(this.makeRunner(`m_${i}`));
    const runners = [...this.runners];
    this.scheduler = createScheduler({
      config,
      plan,
      runners,
      statistics,
      initialStates: new Map(),
      log: silentLog,
      clock,
    });
    this.#owner = { plan, statistics, clock, log: silentLog, released() {} };
  }

  /** Milliseconds since the beginning. */
  get now(): number {
    return (this.clock.nowNs() - this.#begin) / MS;
  }

  /** An instance that the scheduler does not know yet. */
  makeRunner(name: string): InstanceRunner {
    return new InstanceRunner(this.#instance(name), this.statistics, this.plan.decoupled, { clock: this.clock });
  }

  /** Calls `run` at a time in ms since the beginning. */
  at(ms: number, run: () => void): void {
    this.clock.at(this.#begin + ms * MS, run);
  }

  /** Sends a request now. Returns its handle, or undefined when it was refused at once (which is a response too). */
  send(id: string, request: LabRequest = {}): Task | undefined {
    const { rows = 1, width = 1, more = false } = request;
    const tensor = (name: string) => int32(name, [rows, width], new Array(Math.max(rows, 1) * width).fill(0));
    const made = makeRequest(more ? [tensor('IN'), tensor('MORE')] : [tensor('IN')], { ...request, id });
    this.#requests.set(id, request);
    const answer = (reason: { code?: string; message?: string } | undefined): void => {
      this.answers.push({ id, at: this.now, code: reason?.code, text: reason?.message ?? '' });
    };
    const task = new Task(this.#owner, made, validateRequest(this.plan, made), (response, final) => {
      if (final) answer(response?.error);
    });
    try {
      this.scheduler.enqueue(task);
    } catch (reason) {
      answer(reason as Error);
      return undefined;
    }
    this.statistics.series.pending++;
    return task;
  }

  /** Sends requests at their times (ms), lets everything happen, and returns the ids of each batch. */
  async batches(arrivals: readonly (readonly [ms: number, id: string, request?: LabRequest])[]): Promise<string[]> {
    for (const [ms, id, request] of arrivals) this.at(ms, () => void this.send(id, request));
    await this.clock.run();
    return this.executions.map(({ ids }) => ids.join(' '));
  }

  #instance(name: string): BackendInstance {
    const { dead } = this;
    return {
      name,
      concurrency: 1,
      repeatable: this.repeatable,
      get healthy() {
        return !dead.has(name);
      },
      close: async () => {},
      execute: (batch) => {
        const ids = batch.map(({ id }) => id);
        const rows = batch.reduce((sum, { batchSize }) => sum + batchSize, 0);
        const execution = { instance: name, ids, rows, start: this.now, end: Number.NaN };
        this.executions.push(execution);
        for (const id of ids) this.begun.add(id);
        const asked = ids.flatMap((id) => this.#requests.get(id) ?? []);
        const ms = Math.max(...asked.map((request) => request.ms ?? 10));
        const computeStart = this.clock.nowNs();
        if (dead.has(name)) return Promise.reject(new Error(`${name} is dead`));
        return new Promise<ExecutionTimes>((resolve, reject) => {
          this.clock.at(computeStart + ms * MS, () => {
            execution.end = this.now;
            if (asked.some(({ fails }) => fails)) reject(new Error('broken'));
            else resolve(this.#answer(batch, computeStart));
          });
        });
      },
    };
  }

  #answer(batch: readonly ExecutionRequest[], computeStart: number): ExecutionTimes {
    for (const request of batch) request.respond({ outputs: [] }, true);
    const computeEnd = this.clock.nowNs();
    return { computeStart, inputEnd: computeStart, outputStart: computeEnd, computeEnd };
  }
}
