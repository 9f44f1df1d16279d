/**
 * What clients do with one request must not take time that grows with the number of those that wait. The queues are so
 * long here that quadratic work takes minutes; the bound only has to separate that from linear work.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { int32, makeRequest } from '../../../test/support/engine/engine-harness.js';
import { SchedulerLab } from '../../../test/support/engine/scheduler-lab.js';
import { validateRequest } from '../request/validate-request.js';
import type { Task } from '../schedule/task.js';
import { Backlog } from '../sequence/backlog.js';
import { BatchQueue, PLAIN_QUEUE, type QueueOptions } from './batch-queue.js';

const MANY = 200_000;
const MOST_MS = 30_000;

/** Takes part in queues, and remembers how it ended. */
class QueuedTask {
  priority = 0n;
  timeoutMicroseconds = 0n;
  startNs = 0;
  deadlineNs = 0;
  cancelled = false;
  sequenceEnd = false;
  correlationId = 0n;
  line: { cancelled(task: unknown): void } | undefined;
  ended = '';

  constructor(more: Partial<QueuedTask> = {}) {
    Object.assign(this, more);
  }

  get task(): Task {
    return this as unknown as Task;
  }

  cancel(): void {
    this.cancelled = true;
    this.line?.cancelled(this);
  }

  rejectCancelled(): void {
    this.ended = 'cancelled';
  }

  reject(): void {
    this.ended = 'expired';
  }
}

async function quick(run: () => void): Promise<void> {
  const begin = performance.now();
  run();
  const tookMs = performance.now() - begin;
  assert.ok(tookMs < MOST_MS, `${tookMs} ms`);
}

function fill(queue: BatchQueue, more: (i: number) => Partial<QueuedTask> = () => ({})): QueuedTask[] {
  const tasks = Array.from({ length: MANY }, (_, i) => new QueuedTask(more(i)));
  for (const { task } of tasks) queue.push(task);
  return tasks;
}

const withPolicy = (policy: object, more: Partial<QueueOptions> = {}): QueueOptions => ({
  ...PLAIN_QUEUE,
  defaultPolicy: {
    timeout_action: 0,
    default_timeout_microseconds: 0n,
    allow_timeout_override: false,
    max_queue_size: 0,
    ...policy,
  } as NonNullable<QueueOptions['defaultPolicy']>,
  ...more,
});

describe('a long queue', () => {
  test('requests that are all cancelled before a batching pass leave nothing behind', () => {
    const queue = new BatchQueue(PLAIN_QUEUE, () => {});
    for (let round = 0; round < 100; round++) {
      const tasks = Array.from({ length: 10 }, () => new QueuedTask());
      for (const { task } of tasks) queue.push(task);
      for (const task of tasks) task.cancel();
      queue.respondToDropped();
      assert.ok(tasks.every(({ ended }) => ended === 'cancelled'));
      assert.equal(queue.length, 0);
      assert.equal(queue.slots, 0);
    }
  });

  test('lets requests be cancelled at any place, while passes look at it', () =>
    quick(() => {
      let told = 0;
      const queue = new BatchQueue(PLAIN_QUEUE, () => told++);
      const tasks = fill(queue);
      for (let i = MANY - 1; i > 0; i -= 2) {
        tasks[i]!.cancel();
        queue.rewind();
        assert.equal(queue.peek(0), tasks[0]);
      }
      assert.equal(told, MANY / 2);
      assert.equal(queue.length, MANY / 2);
      queue.respondToDropped();
      for (let i = 0; i < MANY; i += 2) {
        queue.rewind();
        assert.equal(queue.peek(0), tasks[i]);
        assert.equal(queue.shift(), tasks[i]);
      }
      assert.equal(queue.length, 0);
      assert.ok(tasks.every(({ ended }, i) => ended === (i % 2 === 1 ? 'cancelled' : '')));
    }));

  test('lets requests expire one by one, the newest first', () =>
    quick(() => {
      const queue = new BatchQueue(
        withPolicy({ default_timeout_microseconds: 10_000_000n, allow_timeout_override: true }),
        () => {},
      );
      const tasks = fill(queue, (i) => ({ timeoutMicroseconds: BigInt(MANY - i) }));
      for (let us = 1; us < MANY; us++) assert.equal(queue.expire(us * 1000 + 1), (us + 1) * 1000);
      queue.respondToDropped();
      assert.equal(queue.length, 1);
      assert.equal(queue.shift(), tasks[0]);
      assert.ok(tasks.every(({ ended }, i) => ended === (i === 0 ? '' : 'expired')));
      assert.equal(queue.expire(1e15), 0);
    }));

  test('keeps nothing of requests that were taken before their time was over', () =>
    quick(() => {
      const queue = new BatchQueue(withPolicy({ default_timeout_microseconds: 60_000_000n }), () => {});
      for (let i = 0; i < MANY; i++) {
        queue.push(new QueuedTask({ startNs: i }).task);
        if (i >= 10) queue.shift();
      }
      assert.equal(queue.length, 10);
      assert.equal(queue.expire(0), MANY - 10 + 60e9);
    }));

  test('has a level for each priority that occurs, of more levels than there is memory for', () =>
    quick(() => {
      const levels = { priorityLevels: 2n ** 64n - 1n, defaultPriority: 1n };
      const queue = new BatchQueue({ ...PLAIN_QUEUE, ...levels }, () => {});
      const tasks = fill(queue, (i) => ({ priority: BigInt((i * 7919) % 20_011) * 900_000_000_000_000n + 1n }));
      for (const task of tasks) if (task.priority > 9n) task.cancel();
      queue.rewind();
      assert.equal(queue.peek(0), tasks[0]);
      assert.equal(queue.length, tasks.filter(({ priority }) => priority === 1n).length);
    }));

  test('of sequences lets them expire and be taken', () =>
    quick(() => {
      const backlog = new Backlog();
      const task = (i: number, us: number) =>
        new QueuedTask({ correlationId: BigInt(i), timeoutMicroseconds: BigInt(us) }).task;
      for (let i = 0; i < MANY; i++) backlog.begin(task(i, i % 2 === 0 ? 0 : MANY - i));
      for (let us = 1; us < MANY; us += 2) {
        assert.equal(backlog.takeExpired(us * 1000)[0]!.key, BigInt(MANY - us));
        assert.equal(backlog.nextDeadline, us + 2 < MANY ? (us + 2) * 1000 : Number.POSITIVE_INFINITY);
      }
      assert.deepEqual([backlog.length, backlog.requests], [MANY / 2, MANY / 2]);
      for (let i = 0; i < MANY; i += 2) assert.equal(backlog.shift()!.key, BigInt(i));
      assert.equal(backlog.shift(), undefined);
      assert.equal(backlog.length, 0);
    }));
});

describe('cancelled requests', () => {
  for (const [name, batching] of [
    ['the default scheduler', ''],
    ['the dynamic batcher', 'dynamic_batching {}'],
    ['the oldest strategy', 'sequence_batching { oldest { max_candidate_sequences: 9999 } }'],
    ['the direct strategy', 'sequence_batching { direct {} }'],
  ] as const) {
    test(`leave the queue of ${name} without being executed, before an instance is free`, async () => {
      const lab = new SchedulerLab(
        `max_batch_size: 2 input [ { name: "IN" data_type: TYPE_INT32 dims: [1] } ] ${batching}`,
      );
      const send = (id: string, ms: number) =>
        lab.send(id, { ms, correlationId: BigInt(id), sequenceStart: true, sequenceEnd: true })!;
      lab.at(0, () => void [send('1', 60_000), send('2', 60_000)]);
      lab.at(1, () => {
        const tasks = Array.from({ length: 100 }, (_, i) => send(`${i + 3}`, 1));
        lab.at(2, () => {
          for (const task of tasks) task.cancel();
        });
      });
      await lab.clock.run();
      assert.equal(lab.answers.length, 102);
      // Up to two batches for each instance are formed ahead: they are executed all the same, as in Triton.
      const executed = lab.answers.filter(({ code }) => code === undefined).length;
      assert.ok(executed <= 2 + 4, `${executed}`);
      assert.equal(lab.begun.size, executed);
    });
  }
});

test('40,000 names of inputs and outputs are compared in no time', () =>
  quick(() => {
    const { plan } = new SchedulerLab('max_batch_size: 8 input [ { name: "IN" data_type: TYPE_INT32 dims: [1] } ]');
    const tensor = int32('x', [1], [1]);
    const names = Array.from({ length: 40_000 }, (_, i) => `n${i}`);
    const inputs = names.map((name) => ({ ...tensor, name }));
    assert.throws(() => validateRequest(plan, makeRequest(inputs)), { message: /but got 40000 inputs/ });
    assert.throws(() => validateRequest(plan, makeRequest([...inputs, inputs[0]!])), {
      message: /'n0' already exists/,
    });
    const requestedOutputs = [...names, 'n39999'];
    assert.throws(() => validateRequest(plan, makeRequest([tensor], { requestedOutputs })), {
      message: /output 'n39999' already exists/,
    });
  }));
