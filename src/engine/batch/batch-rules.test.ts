/** The rules of the dynamic batcher one by one, on a virtual time. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type LabAnswer, type LabRequest, SchedulerLab } from '../../../test/support/engine/scheduler-lab.js';

type Arrival = readonly [ms: number, id: string, request?: LabRequest];

const model = (batching: string, { max = 8, dims = '1', more = '' } = {}) =>
  `max_batch_size: ${max} input [ { name: "IN" data_type: TYPE_INT32 dims: [${dims}] } ${more} ] ${batching}`;
const dynamic = (text: string) => model(`dynamic_batching { ${text} }`);
const each = (ms: number, ids: string, request: LabRequest = {}): Arrival[] =>
  ids.split(' ').map((id) => [ms, id, request]);
/** Keeps an instance busy; with all rows of a batch it waits for no others. */
const busy = (ms = 100, rows = 1): Arrival => [0, 'busy', { ms, rows }];

/** The batches behind a busy instance. */
async function behindBusy(text: string, arrivals: readonly Arrival[], rows = 1): Promise<string[]> {
  return (await new SchedulerLab(text).batches([busy(100, rows), ...arrivals])).slice(1);
}

describe('which requests share a batch', () => {
  test('as many rows as max_batch_size, no more', async () => {
    const arrivals = [...each(1, 'a b', { rows: 3 }), ...each(1, 'c', { rows: 2 }), ...each(1, 'd')];
    assert.deepEqual(await behindBusy(dynamic(''), arrivals), ['a b c', 'd']);
  });

  test('shapes are equal where a dimension may vary', async () => {
    const arrivals = [...each(1, 'a b'), ...each(1, 'c', { width: 2 }), ...each(1, 'd')];
    assert.deepEqual(await behindBusy(model('dynamic_batching {}', { dims: '-1' }), arrivals), ['a b', 'c', 'd']);
  });

  test('ragged inputs need not be equal', async () => {
    const text = model('dynamic_batching {}', { dims: '-1' }).replace('dims', 'allow_ragged_batch: true dims');
    assert.deepEqual(await behindBusy(text, [...each(1, 'a'), ...each(1, 'b', { width: 2 })]), ['a b']);
  });

  test('one with an optional input never shares with one without', async () => {
    const more = ', { name: "MORE" data_type: TYPE_INT32 dims: [1] optional: true }';
    const arrivals = [...each(1, 'a b'), ...each(1, 'c d', { more: true }), ...each(1, 'e')];
    assert.deepEqual(await behindBusy(model('dynamic_batching {}', { more }), arrivals), ['a b', 'c d', 'e']);
  });

  test('a model that does not batch executes one request at a time', async () => {
    const text = model('dynamic_batching {}', { max: 0 }).replace('dims: [1]', 'dims: [1, 1]');
    assert.deepEqual(await behindBusy(text, each(1, 'a b')), ['a', 'b']);
  });
});

describe('sizes and delays', () => {
  test('without a delay all that waits goes when an instance is free', async () => {
    const lab = new SchedulerLab(dynamic(''));
    assert.deepEqual(await lab.batches([busy(), ...each(20, 'a b'), ...each(60, 'c')]), ['busy', 'a b c']);
    assert.ok(lab.executions[1]!.start - lab.executions[0]!.end < 0.1, 'at once');
  });

  test('without a delay the largest preferred size that is reached closes a batch', async () => {
    const text = dynamic('preferred_batch_size: [2, 4] default_queue_policy { max_queue_size: 99 }');
    assert.deepEqual(await behindBusy(text, each(1, 'a b c d e')), ['a b c d', 'e']);
    assert.deepEqual(await behindBusy(text, each(1, 'a b c')), ['a b', 'c']);
    // Formed ahead, a batch is closed as soon as it reaches one.
    assert.deepEqual(await behindBusy(dynamic('preferred_batch_size: [2, 4]'), each(1, 'a b c d e')), [
      'a b',
      'c d',
      'e',
    ]);
  });

  test('a single request beyond the largest preferred size goes by itself', async () => {
    const text = dynamic('preferred_batch_size: [2] max_queue_delay_microseconds: 50000');
    const lab = new SchedulerLab(text);
    assert.deepEqual(await lab.batches([[0, 'big', { rows: 5 }]]), ['big']);
    assert.ok(lab.executions[0]!.start < 0.1);
  });

  test('a preferred size goes at once, less waits until the oldest is as old as the delay', async () => {
    const lab = new SchedulerLab(dynamic('preferred_batch_size: [3] max_queue_delay_microseconds: 50000'));
    assert.deepEqual(await lab.batches([...each(0, 'a b'), ...each(20, 'c'), ...each(100, 'd'), ...each(130, 'e')]), [
      'a b c',
      'd e',
    ]);
    assert.ok(Math.abs(lab.executions[0]!.start - 20) < 0.1);
    assert.ok(Math.abs(lab.executions[1]!.start - 150) < 2.1, `${lab.executions[1]!.start}`);
  });

  test('past the delay a batch may be larger than every preferred size', async () => {
    const text = dynamic('preferred_batch_size: [2] max_queue_delay_microseconds: 5000');
    const arrivals = [...each(1, 'a', { rows: 3 }), ...each(1, 'b', { rows: 3 })];
    assert.deepEqual(await behindBusy(text, arrivals, 8), ['a b']);
  });

  test('batches that were formed while the instance was busy are joined when they have waited out the delay', async () => {
    const run = async (delayMs: number, max: number): Promise<string[]> => {
      const text = `dynamic_batching { preferred_batch_size: [4] max_queue_delay_microseconds: ${delayMs * 1000} }`;
      return await behindBusy(model(text, { max }), [...each(1, 'a b c d e'), ...each(2, 'f g h i')], max);
    };
    assert.deepEqual(await run(5, 16), ['a b c d e f g h i']);
    assert.deepEqual(await run(500, 16), ['a b c d e', 'f g h i'], 'too young');
    assert.deepEqual(await run(5, 8), ['a b c d e', 'f g h i'], 'too large');
  });

  test('past the delay a batch has at most max_batch_size rows', async () => {
    const policy = 'default_queue_policy { max_queue_size: 99 }';
    const text = dynamic(`preferred_batch_size: [2] max_queue_delay_microseconds: 5000 ${policy}`);
    assert.deepEqual(await behindBusy(text, each(1, 'a b c d e f g h i j'), 8), ['a b c d e f g h', 'i j']);
  });

  test('a batch that another shape closed is not joined', async () => {
    const text = model('dynamic_batching { preferred_batch_size: [4] max_queue_delay_microseconds: 5000 }', {
      dims: '-1',
    });
    const arrivals = [...each(1, 'a'), ...each(1, 'b', { width: 2 }), ...each(1, 'c', { width: 2 })];
    assert.deepEqual(await behindBusy(text, arrivals, 8), ['a', 'b c']);
  });

  test('a formed batch grows until an instance takes it', async () => {
    const arrivals = [...each(1, 'a'), ...each(30, 'b'), ...each(99, 'c')];
    assert.deepEqual(await behindBusy(dynamic(''), arrivals), ['a b c']);
  });

  test('batches are formed ahead while all instances are busy, and none is idle then', async () => {
    const lab = new SchedulerLab(dynamic(''), 2);
    const batches = await lab.batches([[0, 'x', { ms: 50 }], [1, 'y', { ms: 80 }], ...each(10, 'a b c d e f g h i j')]);
    assert.deepEqual(batches, ['x', 'y', 'a b c d e f g h', 'i j']);
    assert.deepEqual(
      lab.executions.map(({ start }) => Math.round(start)),
      [0, 1, 50, 60],
    );
  });
});

describe('queue policies', () => {
  const queue = (text: string) => dynamic(`default_queue_policy { ${text} }`);

  test('the limit counts what waits; what left the queue makes room', async () => {
    const lab = new SchedulerLab(queue('max_queue_size: 2'));
    const batches = await lab.batches([busy(), ...each(1, 'a b c'), ...each(101, 'd')]);
    assert.deepEqual(batches, ['busy', 'a b', 'd']);
    const [{ id, at, code, text }] = lab.answers as [LabAnswer];
    assert.deepEqual(
      [id, Math.round(at), code, text],
      ['c', 1, 'UNAVAILABLE', '[request id: c] Exceeds maximum queue size'],
    );
    assert.equal(lab.statistics.failCount, 0);
  });

  test('an expired request is refused while the instances are busy', async () => {
    const lab = new SchedulerLab(queue('default_timeout_microseconds: 30000'));
    assert.deepEqual(await lab.batches([busy(), ...each(10, 'a'), ...each(90, 'b')]), ['busy', 'b']);
    const [first] = lab.answers;
    assert.deepEqual([first!.id, first!.code, first!.text], ['a', 'UNAVAILABLE', 'Request timeout expired']);
    assert.ok(first!.at > 40 && first!.at < 43, `${first!.at}`);
    assert.equal(lab.statistics.failures.REJECTED, 1);
  });

  test('with timeouts a request stays in the queue until an instance is free for it', async () => {
    const lab = new SchedulerLab(
      dynamic('preferred_batch_size: [1] default_queue_policy { default_timeout_microseconds: 30000 }'),
    );
    lab.at(0, () => {
      for (const id of ['a', 'b', 'c']) lab.send(id, { ms: 100 });
    });
    await lab.clock.run();
    assert.deepEqual([...lab.begun], ['a']);
    assert.equal(lab.statistics.failures.REJECTED, 2);
  });

  test("the client's timeout counts where allowed and below the default", async () => {
    const limits = (us: bigint): LabRequest => ({ timeoutMicroseconds: us });
    const arrivals: Arrival[] = [[1, 'short', limits(10_000n)], [1, 'long', limits(900_000n)], ...each(1, 'none')];
    const run = async (policy: string) => (await behindBusy(queue(policy), arrivals)).join();
    assert.equal(await run('default_timeout_microseconds: 200000 allow_timeout_override: true'), 'long none');
    assert.equal(await run('default_timeout_microseconds: 200000'), 'short long none');
    assert.equal(await run('default_timeout_microseconds: 50000 allow_timeout_override: true'), '');
    assert.equal(await run('allow_timeout_override: true'), 'short long none', 'without a default none counts');
  });

  test('DELAY moves expired requests behind the live ones, in their order', async () => {
    const text = dynamic(
      'preferred_batch_size: [1] default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 60000 ' +
        'allow_timeout_override: true }',
    );
    const arrivals: Arrival[] = [...each(1, 'a'), [1, 'b', { timeoutMicroseconds: 20_000n }], ...each(90, 'c d')];
    assert.deepEqual(await behindBusy(text, arrivals), ['c', 'd', 'a', 'b']);
  });

  test('a cancelled request that waits is not executed', async () => {
    const lab = new SchedulerLab(queue('max_queue_size: 9'));
    lab.at(20, () => lab.send('gone')!.cancel());
    assert.deepEqual(await lab.batches([busy(), ...each(10, 'a'), ...each(30, 'b')]), ['busy', 'a b']);
    const answer = lab.answers.find(({ id }) => id === 'gone');
    assert.deepEqual([answer!.code, answer!.text], ['CANCELLED', '']);
    assert.equal(lab.statistics.failures.CANCELED, 1);
  });

  test('one that left the queue for a formed batch is executed all the same', async () => {
    for (const text of [dynamic(''), model('')]) {
      const lab = new SchedulerLab(text);
      lab.at(20, () => {
        const task = lab.send('gone')!;
        lab.at(30, () => task.cancel());
      });
      await lab.batches([busy()]);
      assert.deepEqual(
        lab.executions.map(({ ids }) => ids.join()),
        ['busy', 'gone'],
      );
      assert.equal(lab.statistics.failures.CANCELED, 0);
    }
  });

  test('priorities: level after level, and a level has its own policy', async () => {
    const text = dynamic(
      'preferred_batch_size: [2] priority_levels: 3 default_priority_level: 2 ' +
        'priority_queue_policy { key: 3 value: { max_queue_size: 1 } }',
    );
    const level = (priority: bigint): LabRequest => ({ priority });
    const lab = new SchedulerLab(text);
    const arrivals: Arrival[] = [
      [1, 'low', level(3n)],
      [2, 'full', level(3n)],
      ...each(3, 'mid'),
      [4, 'wrong', level(7n)],
      [5, 'high', level(1n)],
    ];
    assert.deepEqual((await lab.batches([busy(), ...arrivals])).slice(1), ['high mid', 'wrong low']);
    assert.equal(lab.answers[0]!.id, 'full');
  });
});

test('preserve_ordering: responses leave in the order of dispatch, errors too', async () => {
  const lab = new SchedulerLab(dynamic('preserve_ordering: true preferred_batch_size: [1]'), 3);
  await lab.batches([
    [0, 'slow', { ms: 50 }],
    [1, 'fails', { ms: 5, fails: true }],
    [2, 'quick', { ms: 1 }],
    [20, 'late', { ms: 1 }],
  ]);
  assert.deepEqual(
    lab.answers.map(({ id, code }) => [id, code]),
    [
      ['slow', undefined],
      ['fails', 'INTERNAL'],
      ['quick', undefined],
      ['late', undefined],
    ],
  );
  assert.ok(lab.answers.every(({ at }) => at >= 50));
});

test('a request with a batch of 0 rows shares a batch with no other', async () => {
  const arrivals = [...each(1, 'a b'), ...each(1, 'none', { rows: 0 }), ...each(1, 'c d')];
  const text = model('dynamic_batching {}', { dims: '-1' });
  assert.deepEqual(await behindBusy(text, arrivals), ['a b', 'none', 'c d']);
  assert.deepEqual(await behindBusy(dynamic(''), arrivals), ['a b', 'none', 'c d']);
});

describe('a batch that fails', () => {
  const arrivals = [...each(1, 'a b'), ...each(1, 'bad', { fails: true }), ...each(1, 'c'), ...each(300, 'later')];

  test('is executed again one by one where that has no other effect, so that the bad request fails alone', async () => {
    const lab = new SchedulerLab(dynamic(''), 1, true);
    const batches = await lab.batches([busy(), ...arrivals]);
    assert.deepEqual(batches, ['busy', 'a b bad c', 'a', 'b', 'bad', 'c', 'later']);
    assert.deepEqual(
      lab.answers.filter(({ code }) => code !== undefined).map(({ id }) => id),
      ['bad'],
    );
    assert.equal(lab.answers.length, 6);
    const { successCount, failures, executionCount } = lab.statistics;
    assert.deepEqual([successCount, failures.BACKEND, executionCount], [5, 1, 5]);
    assert.equal(lab.runners[0]!.inFlight, 0);
  });

  test('fails as a whole where the model may remember what it was given', async () => {
    const lab = new SchedulerLab(dynamic(''));
    await lab.batches([busy(), ...arrivals]);
    assert.deepEqual(
      lab.answers.filter(({ code }) => code !== undefined).map(({ id }) => id),
      ['a', 'b', 'bad', 'c'],
    );
  });
});
