import type { Clock } from '../../../base/clock.js';
import type { Log } from '../../../base/log.js';
import type { ModelPlan } from '../../../modelconfig/plan/model-plan.js';
import type { ModelConfig } from '../../../protocol/proto/model-config.js';
import { batchOptions } from '../../batch/batch-options.js';
import { BatchScheduler } from '../../batch/batch-scheduler.js';
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

/** The scheduler that a configuration asks for. */
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
  if (config.dynamic_batching !== undefined) {
    log.verbose(1, `Starting dynamic-batcher thread for ${config.name} at nice ${niceLevel(config)}...`);
  }
  const options = batchOptions(config.dynamic_batching, plan, startDelay().queued);
  return new BatchScheduler(runners, options, parts.clock);
}

/** The level that Triton's thread has by the configured priority. Here no thread has one of its own. */
function niceLevel({ optimization }: ModelConfig): number {
  return NICE_LEVELS[optimization?.priority ?? 0] ?? 5;
}

/** By ModelPriority: the default, MAX, MIN. */
const NICE_LEVELS = [5, 0, 19];
