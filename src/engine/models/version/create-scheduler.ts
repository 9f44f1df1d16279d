import type { Clock } from '../../../base/clock.js';
import type { Log } from '../../../base/log.js';
import type { ModelPlan } from '../../../modelconfig/plan/model-plan.js';
import type { ModelConfig, ModelDynamicBatching } from '../../../protocol/proto/model-config.js';
import { PLAIN_QUEUE, type QueueOptions } from '../../batch/batch-queue.js';
import { type BatchOptions, BatchScheduler } from '../../batch/batch-scheduler.js';
import { startDelay } from '../../batch/start-delay.js';
import type { InstanceRunner } from '../../schedule/instance-runner.js';
import type { Scheduler } from '../../schedule/scheduler.js';
import { SequenceScheduler } from '../../sequence/sequence-scheduler.js';
import { compileStates } from '../../sequence/state-plan.js';
import type { ModelStatistics } from '../../statistics/model-statistics.js';

/** What a scheduler works with. */
export interface SchedulerParts {
  readonly config: ModelConfig;
  readonly plan: ModelPlan;
  readonly runners: readonly InstanceRunner[];
  readonly statistics: ModelStatistics;
  /** What files say about the states of sequences at their beginning, by the states' input names. */
  readonly initialStates: ReadonlyMap<string, Uint8Array>;
  readonly log: Log;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/** The scheduler that a configuration asks for (spec: runtime, section 1.1). */
export function createScheduler(parts: SchedulerParts): Scheduler {
  const { config, plan, runners, initialStates, log } = parts;
  if (config.sequence_batching !== undefined) {
    return new SequenceScheduler({
      ...parts,
      config: config.sequence_batching,
      states: compileStates(config, initialStates, log),
      delay: startDelay(),
    });
  }
  return new BatchScheduler(plan, runners, batchOptions(config, plan), parts.clock);
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
    startAfter: startDelay().queued,
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
