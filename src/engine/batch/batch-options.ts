import type { ModelPlan } from '../../modelconfig/plan/model-plan.js';
import type { ModelDynamicBatching } from '../../protocol/proto/model-config.js';
import { PLAIN_QUEUE, type QueueOptions } from './batch-queue.js';
import type { BatchRules } from './form-batch.js';

/** How a batcher forms batches and queues requests. */
export interface BatchOptions extends BatchRules {
  /** False: every request is executed by itself, in order (the default scheduler). */
  readonly batching: boolean;
  /** Responses go out in the order in which the requests were dispatched. */
  readonly preserveOrdering: boolean;
  readonly queue: QueueOptions;
  /** Starts only once this number of requests is queued, for deterministic tests (start-delay.ts). */
  readonly startAfter: number;
}

type SharedFields = 'preferred_batch_size' | 'max_queue_delay_microseconds' | 'preserve_ordering';

/** The section of a configuration that asks for batches: `dynamic_batching`, or `oldest` of sequence batching. */
export type BatcherConfig = Pick<ModelDynamicBatching, SharedFields> & Partial<ModelDynamicBatching>;

/**
 * The options of every batcher: the dynamic one, that of the oldest strategy, which has no queue policies, and without a
 * section the default scheduler, which executes requests one by one. `startAfter`: requests that batchers wait for.
 */
export function batchOptions(config: BatcherConfig | undefined, plan: ModelPlan, startAfter: number): BatchOptions {
  if (config === undefined) {
    return {
      plan,
      batching: false,
      maxBatchSize: 1,
      preferredSizes: [],
      maxPreferred: 0,
      delayNs: 0,
      preserveOrdering: false,
      queue: PLAIN_QUEUE,
      startAfter: 0,
    };
  }
  const preferredSizes = config.preferred_batch_size;
  return {
    plan,
    batching: true,
    maxBatchSize: Math.max(1, plan.maxBatchSize),
    preferredSizes,
    maxPreferred: preferredSizes.reduce((most, size) => Math.max(most, size), 0),
    delayNs: Number(config.max_queue_delay_microseconds) * 1000,
    preserveOrdering: config.preserve_ordering,
    queue: {
      priorityLevels: config.priority_levels ?? PLAIN_QUEUE.priorityLevels,
      defaultPriority: config.default_priority_level ?? PLAIN_QUEUE.defaultPriority,
      defaultPolicy: config.default_queue_policy,
      policies: config.priority_queue_policy ?? PLAIN_QUEUE.policies,
    },
    startAfter,
  };
}
