/** Which requests of a queue make the next batch. */
import type { ModelPlan } from '../../modelconfig/plan/model-plan.js';
import { type Comparable, compatible } from './compatible.js';

/** A request, as far as the forming of batches looks at it. */
export interface Candidate extends Comparable {
  /** Rows of the batch that it takes. */
  readonly batchSize: number;
  /** When its batcher got it, in ns: the delay counts from here. */
  readonly batcherNs: number;
  /** When its queue's policy ends its wait, in ns; 0 = never. */
  readonly deadlineNs: number;
}

/** The waiting requests in the order in which they are to be served; each pass walks over them from the front. */
export interface Candidates {
  /** Puts the cursor before the first request. */
  rewind(): void;
  /** The request behind the cursor, which moves on; undefined at the end. */
  next(now: number): Candidate | undefined;
}

/** The batch that grows, which no instance has taken: what is formed joins it. */
export interface GrowingBatch {
  readonly tasks: readonly Candidate[];
  /** Sum of their batch sizes. */
  readonly rows: number;
}

/** What a model's configuration says about its batches. */
export interface BatchRules {
  readonly plan: ModelPlan;
  /** Largest number of rows. */
  readonly maxBatchSize: number;
  readonly preferredSizes: readonly number[];
  /** The largest preferred size: max_batch_size where the configuration has none. */
  readonly maxPreferred: number;
  /** How long the oldest request may wait for more, in ns; 0 = not at all. */
  readonly delayNs: number;
}

/** What one pass decided. */
export interface NextBatch {
  /** How many requests join the growing batch now, from the front of the queue. */
  readonly count: number;
  /** Where none does: how long to wait, in ns; 0 = until something else happens. */
  readonly waitNs: number;
  /** Nothing more joins the growing batch. */
  readonly saturated: boolean;
  /** The request behind it cannot share a batch with it: nothing follows into it, and it follows into no other. */
  readonly sealed: boolean;
}

/** Least time that is waited, in ns. */
const LEAST_WAIT_NS = 1000;

/**
 * Decides without changing anything which requests join the growing batch. Requests join in their order as long as they
 * fit and are compatible with the first. Where a preferred size can be reached, as many join as make the largest such
 * size before the first that exceeds all of them. Otherwise they wait for more until the oldest has waited out the delay,
 * but no longer than until a queue timeout ends.
 */
export function formBatch(rules: BatchRules, growing: GrowingBatch, queue: Candidates, now: number): NextBatch {
  const { plan, maxBatchSize, preferredSizes, maxPreferred, delayNs } = rules;
  let first = growing.tasks[0];
  let pending = 0;
  let count = 0;
  let best = 0;
  let bestCount = 0;
  let saturated = false;
  let sealed = false;
  let sendNow = false;
  let oldest = now;
  let nearestDeadline = 0;
  queue.rewind();
  for (let task = queue.next(now); task !== undefined; task = queue.next(now)) {
    const rows = growing.rows + pending + task.batchSize;
    if (first === undefined) {
      first = task;
    } else {
      if (rows > maxPreferred && best === 0) {
        best = pending;
        bestCount = count;
        saturated = true;
      }
      if (rows > maxBatchSize) {
        sendNow = true;
        break;
      }
      if (!compatible(plan, first, task)) {
        saturated = true;
        sealed = true;
        sendNow = true;
        break;
      }
    }
    pending += task.batchSize;
    count++;
    if (task.batcherNs < oldest) oldest = task.batcherNs;
    if (task.deadlineNs !== 0 && (nearestDeadline === 0 || task.deadlineNs < nearestDeadline)) {
      nearestDeadline = task.deadlineNs;
    }
    if (preferredSizes.includes(rows)) {
      best = pending;
      bestCount = count;
    }
  }

  const exceeded = delayNs !== 0 && now - oldest >= delayNs;
  if (best !== 0 && !exceeded) {
    return { count: bestCount, waitNs: 0, saturated: saturated || delayNs === 0, sealed };
  }
  if (count === 0) return { count, waitNs: 0, saturated, sealed };
  if (sendNow || growing.rows + pending >= maxPreferred) return { count, waitNs: 0, saturated: true, sealed };
  if (exceeded || delayNs === 0) return { count, waitNs: 0, saturated, sealed };
  if (growing.rows > 0 && !saturated && !preferredSizes.includes(growing.rows)) {
    return { count, waitNs: 0, saturated, sealed };
  }
  const delayLeft = delayNs - (now - oldest);
  const left = nearestDeadline === 0 ? delayLeft : Math.min(delayLeft, nearestDeadline - now);
  return { count: 0, waitNs: Math.max(left, LEAST_WAIT_NS), saturated, sealed };
}
