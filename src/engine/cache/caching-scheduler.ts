import { type Clock, SYSTEM_CLOCK } from '../../base/clock.js';
import { TritonError } from '../../base/error.js';
import type { Log } from '../../base/log.js';
import type { ExecutionResponse } from '../../contract/backend.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import type { Parameters } from '../../protocol/tensor.js';
import type { Scheduler } from '../schedule/scheduler.js';
import type { Task } from '../schedule/task.js';
import type { ModelStatistics } from '../statistics/model-statistics.js';
import { cacheKey } from './cache-key.js';
import type { CachedResponse, LocalCache } from './local-cache.js';

/** What responses from the cache need of the model. */
export interface CachedModel {
  /** The load number of the version. */
  readonly load: number;
  readonly statistics: ModelStatistics;
  readonly log: Log;
}

/**
 * Stands before a model's scheduler: responds at once to what the cache knows, and keeps the successful responses to
 * the rest. Responses with errors are never kept, nor are those of requests that have several.
 */
export class CachingScheduler implements Scheduler {
  readonly #scheduler: Scheduler;
  readonly #cache: LocalCache;
  readonly #model: CachedModel;
  readonly #clock: Clock;

  constructor(scheduler: Scheduler, cache: LocalCache, model: CachedModel, clock: Clock = SYSTEM_CLOCK) {
    this.#scheduler = scheduler;
    this.#cache = cache;
    this.#model = model;
    this.#clock = clock;
  }

  get inFlight(): number {
    return this.#scheduler.inFlight;
  }

  addMemberLoads(loads: Set<number>): void {
    this.#scheduler.addMemberLoads?.(loads);
  }

  enqueue(task: Task): void {
    const clock = this.#clock;
    const start = clock.nowNs();
    const loads = this.#loads();
    const key = cacheKey(loads, task);
    const response = this.#cache.lookUp(key);
    const lookupNs = clock.nowNs() - start;
    if (response === undefined) {
      this.#keepAnswer(task, key, loads, lookupNs);
      this.#scheduler.enqueue(task);
      return;
    }
    task.markExecuting();
    clock.soon(() => {
      // A step of an ensemble may have been cancelled since.
      if (task.cancelled) {
        task.rejectCancelled();
        return;
      }
      task.respond(response, true);
      this.#model.statistics.recordCacheHit(clock.nowNs() - task.startNs, start - task.startNs, lookupNs);
      task.counted(0, 0, 0);
    });
  }

  stop(): void {
    this.#scheduler.stop();
  }

  close(): void {
    this.#scheduler.close();
  }

  /** The load numbers of everything that has a part in a response. Throws where a member of an ensemble does not serve. */
  #loads(): readonly number[] {
    const { load } = this.#model;
    if (this.#scheduler.addMemberLoads === undefined) return [load];
    const loads = new Set([load]);
    this.#scheduler.addMemberLoads(loads);
    return [...loads];
  }

  #keepAnswer(task: Task, key: string, loads: readonly number[], lookupNs: number): void {
    let kept: CachedResponse | undefined;
    let responses = 0;
    task.onResponse = (response: ExecutionResponse | undefined, final: boolean) => {
      if (response !== undefined) {
        responses++;
        const { error, outputs, parameters = NO_PARAMETERS } = response;
        if (error === undefined) kept = { outputs, parameters };
      }
      if (final && responses === 1 && kept !== undefined) this.#insert(key, kept, loads, lookupNs);
    };
  }

  #insert(key: string, response: CachedResponse, loads: readonly number[], lookupNs: number): void {
    const start = this.#clock.nowNs();
    try {
      // A member of an ensemble that was loaded again meanwhile may have made the response, or not.
      if (!sameNumbers(loads, this.#loads())) return;
      if (!this.#cache.insert(key, response, loads)) return;
    } catch (reason) {
      const { message } = TritonError.from(reason);
      this.#model.log.error(`Failed to insert key [${key}] into response cache: ${message}`);
    }
    this.#model.statistics.recordCacheMiss(lookupNs + this.#clock.nowNs() - start);
  }
}

const NO_PARAMETERS: Parameters = [];

function sameNumbers(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((number, i) => number === b[i]);
}

/** The scheduler behind the cache, where the server has one and the configuration wants it; else the scheduler itself. */
export function behindCache(
  scheduler: Scheduler,
  config: ModelConfig,
  cache: LocalCache | undefined,
  model: CachedModel,
): Scheduler {
  // An ensemble can turn out to be decoupled after its configuration was checked.
  const decoupled = config.model_transaction_policy?.decoupled ?? false;
  if (cache === undefined || decoupled || !config.response_cache?.enable) return scheduler;
  return new CachingScheduler(scheduler, cache, model);
}
