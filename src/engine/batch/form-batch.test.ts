/** One table: which of the requests that wait make the next batch. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { int32 } from '../../../test/support/engine/engine-harness.js';
import { normalizeModelConfig } from '../../modelconfig/complete/normalize.js';
import { readPbtxt } from '../../modelconfig/pbtxt/read-pbtxt.js';
import { compileModelPlan } from '../../modelconfig/plan/model-plan.js';
import type { Task } from '../schedule/task.js';
import { batchOptions } from './batch-options.js';
import { BatchQueue } from './batch-queue.js';
import { formBatch } from './form-batch.js';

/** A request that waits: `rows` default 1, `ageUs` 0, `width` (its shape) 1. */
interface Waiting {
  readonly rows?: number;
  readonly ageUs?: number;
  readonly width?: number;
  readonly priority?: bigint;
}

interface Case {
  readonly what: string;
  /** Fields of `dynamic_batching`. */
  readonly batching?: string;
  readonly maxBatchSize?: number;
  /** The batch that grows already. */
  readonly growing?: Readonly<Record<string, Waiting>>;
  readonly waiting: Readonly<Record<string, Waiting>>;
  /** Ids of those that join. */
  readonly joins: string;
  readonly waitUs?: number;
  readonly saturated?: boolean;
  readonly sealed?: boolean;
}

const NOW_NS = 1_000_000_000;

const CASES: readonly Case[] = [
  { what: 'nothing waits', waiting: {}, joins: '' },
  {
    what: 'without a delay all go that wait',
    waiting: { a: {}, b: { rows: 2 }, c: {} },
    joins: 'a b c',
  },
  {
    what: 'as many as fit, in their order: a small one behind a large one does not overtake it',
    maxBatchSize: 4,
    waiting: { a: { rows: 3 }, b: { rows: 2 }, c: {} },
    joins: 'a',
    saturated: true,
  },
  {
    what: 'a full growing batch takes nothing more',
    maxBatchSize: 4,
    growing: { x: { rows: 4 } },
    waiting: { a: {} },
    joins: '',
    saturated: true,
  },
  {
    what: 'rows of the growing batch count',
    maxBatchSize: 4,
    growing: { x: { rows: 2 } },
    waiting: { a: {}, b: {}, c: {} },
    joins: 'a b',
    saturated: true,
  },
  {
    what: 'another shape seals the batch',
    waiting: { a: {}, b: { width: 2 }, c: {} },
    joins: 'a',
    saturated: true,
    sealed: true,
  },
  {
    what: 'the shape is that of the growing batch',
    growing: { x: { width: 2 } },
    waiting: { a: { width: 1 } },
    joins: '',
    saturated: true,
    sealed: true,
  },
  {
    what: 'the largest preferred size that is reached',
    batching: 'preferred_batch_size: [2, 4]',
    waiting: { a: {}, b: {}, c: {}, d: {}, e: {} },
    joins: 'a b c d',
    saturated: true,
  },
  {
    what: 'a smaller preferred size where the next cannot be reached',
    batching: 'preferred_batch_size: [2, 4]',
    waiting: { a: {}, b: {}, c: {} },
    joins: 'a b',
    saturated: true,
  },
  {
    what: 'a preferred size with the rows of the growing batch',
    batching: 'preferred_batch_size: [4] max_queue_delay_microseconds: 1000',
    growing: { x: { rows: 3 } },
    waiting: { a: {}, b: {} },
    joins: 'a',
  },
  {
    what: 'requests that reach no preferred size wait for more',
    batching: 'preferred_batch_size: [4] max_queue_delay_microseconds: 1000',
    waiting: { a: { ageUs: 300 }, b: { ageUs: 100 } },
    joins: '',
    waitUs: 700,
  },
  {
    what: 'until the oldest has waited out the delay',
    batching: 'preferred_batch_size: [4] max_queue_delay_microseconds: 1000',
    waiting: { a: { ageUs: 1000 }, b: {} },
    joins: 'a b',
  },
  {
    what: 'then all go, preferred size or not',
    batching: 'preferred_batch_size: [2] max_queue_delay_microseconds: 1000',
    waiting: { a: { ageUs: 1000 }, b: {}, c: {} },
    joins: 'a b c',
    saturated: true,
  },
  {
    what: 'no longer than until a queue timeout ends',
    batching:
      'preferred_batch_size: [4] max_queue_delay_microseconds: 1000 ' +
      'default_queue_policy { default_timeout_microseconds: 500 }',
    waiting: { a: { ageUs: 300 } },
    joins: '',
    waitUs: 200,
  },
  {
    what: 'at least a microsecond',
    batching: 'preferred_batch_size: [4] max_queue_delay_microseconds: 1000',
    waiting: { a: { ageUs: 999.5 } },
    joins: '',
    waitUs: 1,
  },
  {
    what: 'what has expired is passed over',
    batching: 'default_queue_policy { default_timeout_microseconds: 500 }',
    waiting: { a: { ageUs: 600 }, b: {} },
    joins: 'b',
  },
  {
    what: 'under DELAY it comes last',
    batching: 'default_queue_policy { default_timeout_microseconds: 500 timeout_action: DELAY }',
    waiting: { a: { ageUs: 600 }, b: {} },
    joins: 'b a',
  },
  {
    what: 'priorities first, each level in its order',
    maxBatchSize: 3,
    batching: 'priority_levels: 3 default_priority_level: 2',
    waiting: { a: { priority: 3n }, b: {}, c: { priority: 1n }, d: { priority: 2n } },
    joins: 'c b d',
    saturated: true,
  },
  {
    what: 'a growing batch without a preferred size takes what comes before the delay is over',
    batching: 'preferred_batch_size: [8] max_queue_delay_microseconds: 1000',
    growing: { x: { rows: 3 } },
    waiting: { a: {} },
    joins: 'a',
  },
];

/** As many fields of a request as queue and forming look at. */
function taskOf(id: string, { rows = 1, ageUs = 0, width = 1, priority = 0n }: Waiting): Task {
  const startNs = NOW_NS - ageUs * 1000;
  const inputs = [int32('IN', [rows, width], Array(rows * width).fill(0))];
  const task = { id, batchSize: rows, alone: false, inputs, startNs, batcherNs: startNs, deadlineNs: 0, priority };
  return { ...task, timeoutMicroseconds: 0n, cancelled: false, line: undefined } as unknown as Task;
}

describe('formBatch', () => {
  for (const each of CASES) {
    test(each.what, () => {
      const { batching = '', maxBatchSize = 8, growing = {}, waiting } = each;
      const config = normalizeModelConfig(
        readPbtxt(
          `name: "m" backend: "b" max_batch_size: ${maxBatchSize} dynamic_batching { ${batching} }
           input { name: "IN" data_type: TYPE_INT32 dims: [-1] } output { name: "OUT" data_type: TYPE_INT32 dims: [-1] }`,
        ).config,
      );
      const options = batchOptions(config.dynamic_batching, compileModelPlan(config, '1'), 0);
      const queue = new BatchQueue(options.queue, () => {});
      for (const [id, request] of Object.entries(waiting)) queue.push(taskOf(id, request));
      const tasks = Object.entries(growing).map(([id, request]) => taskOf(id, request));
      const rows = tasks.reduce((sum, { batchSize }) => sum + batchSize, 0);

      const { count, waitNs, saturated, sealed } = formBatch(options, { tasks, rows }, queue, NOW_NS);

      const joins = Array.from({ length: count }, () => queue.shift()?.id).join(' ');
      const { waitUs = 0, saturated: saturates = false, sealed: seals = false } = each;
      assert.deepEqual(
        { joins, waitUs: waitNs / 1000, saturated, sealed },
        { joins: each.joins, waitUs, saturated: saturates, sealed: seals },
      );
    });
  }
});
