import type { ModelConfig, ModelDynamicBatching } from '../../protocol/proto/model-config.js';
import type { Log } from '../log.js';
import type { ModelPlan } from '../model-plan.js';
import { SequenceScheduler } from '../sequence/sequence-scheduler.js';
import { PLAIN_QUEUE, type QueueOptions } from './batch-queue.js';
import { type BatchOptions, BatchScheduler } from './batch-scheduler.js';
import type { InstanceRunner } from './instance-runner.js';
import type { Scheduler } from './scheduler.js';

/** Holds a batcher back until so many requests are queued; for tests that need to be deterministic. */
const DELAY_VARIABLE = 'TRITONSERVER_DELAY_SCHEDULER';

/** The scheduler that a configuration asks for (spec: runtime, section 1.1). */
export function createScheduler(
  config: ModelConfig,
  plan: ModelPlan,
  runners: readonly InstanceRunner[],
  log: Log,
): Scheduler {
  if (config.sequence_batching !== undefined) {
    return new SequenceScheduler(config.sequence_batching, plan, runners, startAfter(), log);
  }
  return new BatchScheduler(plan, runners, batchOptions(config, plan));
}

/** Options of the default scheduler or of the dynamic batcher. */
function batchOptions(config: ModelConfig, plan: ModelPlan): BatchOptions {
  const dynamic = config.dynamic_batching;
  if (dynamic === undefined) {
    return {
      batching: false,
      maxBatchSize: 1,
      preferredSizes: [],
      delayNs: 0,
      preserveOrdering: false,
      queue: PLAIN_QUEUE,
      startAfter: 0,
    };
  }
  return {
    batching: true,
    maxBatchSize: Math.max(1, plan.maxBatchSize),
    preferredSizes: dynamic.preferred_batch_size,
    delayNs: Number(dynamic.max_queue_delay_microseconds) * 1000,
    preserveOrdering: dynamic.preserve_ordering,
    queue: queueOptions(dynamic),
    startAfter: startAfter(),
  };
}

function queueOptions(dynamic: ModelDynamicBatching): QueueOptions {
  return {
    priorityLevels: dynamic.priority_levels,
    defaultPriority: dynamic.default_priority_level,
    defaultPolicy: dynamic.default_queue_policy,
    policies: dynamic.priority_queue_policy,
  };
}

function startAfter(): number {
  const count = Number.parseInt(process.env[DELAY_VARIABLE] ?? '', 10);
  return Number.isFinite(count) ? Math.max(0, count) : 0;
}
