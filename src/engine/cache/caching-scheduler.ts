import type { ExecutionResponse } from '../../backends/backend.js';
import { TritonError } from '../../protocol/error.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import type { Tensor } from '../../protocol/tensor.js';
import { type Clock, SYSTEM_CLOCK } from '../clock.js';
import type { Log } from '../log.js';
import type { Scheduler } from '../schedule/scheduler.js';
import type { Task } from '../schedule/task.js';
import type { ModelStatistics } from '../statistics/model-statistics.js';
import { cacheKey } from './cache-key.js';
import type { LocalCache } from './local-cache.js';

/** What answers from the cache need of the model. */
export interface CachedModel {
  readonly name: string;
  readonly version: string;
  readonly statistics: ModelStatistics;
  readonly log: Log;
}

/**
 * Stands before a model's scheduler: answers what the cache knows at once, and keeps the successful answers to the rest
 * (spec: runtime, section 6). Responses with errors are never kept.
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

  enqueue(task: Task): void {
    const clock = this.#clock;
    const start = clock.nowNs();
    const key = cacheKey(this.#model.name, this.#model.version, task);
    const outputs = this.#cache.lookUp(key);
    const lookupNs = clock.nowNs() - start;
    if (outputs === undefined) {
      this.#keepAnswer(task, key, lookupNs);
      this.#scheduler.enqueue(task);
      return;
    }
    task.markExecuting();
    clock.soon(() => {
      task.respond({ outputs }, true);
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

  #keepAnswer(task: Task, key: string, lookupNs: number): void {
    let outputs: readonly Tensor[] | undefined;
    let responses = 0;
    task.onResponse = (response: ExecutionResponse | undefined, final: boolean) => {
      if (response !== undefined) {
        responses++;
        if (response.error === undefined) outputs = response.outputs;
      }
      if (final && responses === 1 && outputs !== undefined) this.#insert(key, outputs, lookupNs);
    };
  }

  #insert(key: string, outputs: readonly Tensor[], lookupNs: number): void {
    const start = this.#clock.nowNs();
    try {
      if (!this.#cache.insert(key, outputs)) return;
    } catch (reason) {
      const { message } = TritonError.from(reason);
      this.#model.log.error(`Failed to insert key [${key}] into response cache: ${message}`);
    }
    this.#model.statistics.recordCacheMiss(lookupNs + this.#clock.nowNs() - start);
  }
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
