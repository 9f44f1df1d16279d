import { TritonError } from '../../base/error.js';
import { requestPrefix } from '../../protocol/infer/request-prefix.js';
import { type Scheduler, STOPPING_TEXT } from '../schedule/scheduler.js';
import type { Task } from '../schedule/task.js';
import type { ModelStatistics } from '../statistics/model-statistics.js';
import { type EnsemblePlan, selectOutputs } from './ensemble-plan.js';
import { type EnsembleOwner, EnsembleRun } from './ensemble-run.js';
import type { FindMember } from './member.js';
import type { StepLimiter } from './step-limiter.js';

/** What an ensemble's scheduler works with. */
export interface EnsembleSchedulerParts extends EnsembleOwner {
  /** Names of all outputs: requests that name none carry this very list. */
  readonly allNames: readonly string[];
  readonly find: FindMember;
}

type Selection = ReturnType<typeof selectOutputs>;

/** Runs requests through the steps of an ensemble. It never batches: the models of the steps do. */
export class EnsembleScheduler implements Scheduler, EnsembleOwner {
  readonly plan: EnsemblePlan;
  readonly decoupled: boolean;
  readonly statistics: ModelStatistics;
  readonly limiters: readonly StepLimiter[] | undefined;
  readonly #find: FindMember;
  /** By list of outputs as requests name them; the list of all outputs is always the same array. */
  readonly #selections = new Map<string, Selection>();
  readonly #allNames: readonly string[];
  readonly #all: Selection;
  #inFlight = 0;
  #stopping = false;

  constructor(parts: EnsembleSchedulerParts) {
    this.plan = parts.plan;
    this.decoupled = parts.decoupled;
    this.statistics = parts.statistics;
    this.limiters = parts.limiters;
    this.#find = parts.find;
    this.#allNames = parts.allNames;
    this.#all = selectOutputs(parts.plan, parts.allNames);
  }

  /** Requests that have not had their last response. */
  get inFlight(): number {
    return this.#inFlight;
  }

  enqueue(task: Task): void {
    if (this.#stopping && !task.isStep) {
      throw new TritonError('UNAVAILABLE', `${requestPrefix(task.id)}${STOPPING_TEXT}`);
    }
    const { outputs, steps } = this.#selection(task.requestedOutputs);
    const members = this.plan.steps.map((step, i) => (steps[i] ? this.#find(step.model, step.version) : undefined));
    task.markExecuting();
    this.#inFlight++;
    task.onFinished = () => {
      this.#inFlight--;
    };
    new EnsembleRun(this, task, outputs, members).start();
  }

  addMemberLoads(loads: Set<number>): void {
    for (const { model, version } of this.plan.steps) this.#find(model, version).addLoads(loads);
  }

  stop(): void {
    this.#stopping = true;
  }

  close(): void {}

  #selection(names: readonly string[]): Selection {
    if (names === this.#allNames) return this.#all;
    const key = names.join('\0');
    let selection = this.#selections.get(key);
    if (selection === undefined) {
      selection = selectOutputs(this.plan, names);
      if (this.#selections.size < MAX_SELECTIONS) this.#selections.set(key, selection);
    }
    return selection;
  }
}

/** Lists of outputs that are remembered; more are worked out again each time. */
const MAX_SELECTIONS = 100;
