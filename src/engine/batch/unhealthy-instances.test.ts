/** Instances that cannot execute get nothing while another can, on a virtual time. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SchedulerLab } from '../../../test/support/engine/scheduler-lab.js';

const model = (batching: string) =>
  `max_batch_size: 2 input [ { name: "IN" data_type: TYPE_INT32 dims: [1] } ] ${batching}`;
const sequence = (strategy: string) =>
  model(`sequence_batching { ${strategy} max_sequence_idle_microseconds: 9000000 }`);

/** Which instance executed each request. */
function placesOf(lab: SchedulerLab): Map<string, string> {
  return new Map(lab.executions.flatMap(({ instance, ids }) => ids.map((id) => [id, instance] as const)));
}

describe('an instance that is not healthy', () => {
  for (const [name, batching] of [
    ['the default scheduler', ''],
    ['the dynamic batcher', 'dynamic_batching {}'],
    ['the dynamic batcher with priorities', 'dynamic_batching { priority_levels: 3 default_priority_level: 1 }'],
  ] as const) {
    test(`gets nothing of ${name} while another is healthy, however busy`, async () => {
      const lab = new SchedulerLab(model(batching), 2);
      lab.dead.add('m_0');
      for (let i = 0; i < 40; i++) lab.at(i, () => void lab.send(`${i}`, { ms: 5 }));
      await lab.clock.run();
      assert.equal(lab.answers.length, 40);
      assert.deepEqual(new Set(placesOf(lab).values()), new Set(['m_1']));
      assert.ok(lab.answers.every(({ code }) => code === undefined));
    });
  }

  test('gets work again when it has recovered, while others are still busy', async () => {
    const lab = new SchedulerLab(model(''), 2);
    lab.dead.add('m_0');
    lab.at(0, () => void lab.send('long', { ms: 10_000 }));
    lab.at(1, () => void lab.send('waits'));
    lab.at(500, () => void lab.dead.delete('m_0'));
    await lab.clock.run();
    const { at, code } = lab.answers.find(({ id }) => id === 'waits')!;
    assert.equal(code, undefined);
    assert.ok(at < 1000, `${at}`);
  });

  test('fails requests at once when there is no other', async () => {
    const lab = new SchedulerLab(model(''), 2);
    for (const name of ['m_0', 'm_1']) lab.dead.add(name);
    lab.at(0, () => void lab.send('a'));
    await lab.clock.run();
    assert.deepEqual(
      lab.answers.map(({ id, code }) => [id, code]),
      [['a', 'INTERNAL']],
    );
  });

  for (const strategy of ['direct {}', 'oldest {}']) {
    test(`gets no sequence while another has slots or will have some (${strategy})`, async () => {
      const lab = new SchedulerLab(sequence(strategy), 2);
      lab.dead.add('m_0');
      for (let id = 1; id <= 6; id++) {
        const correlationId = BigInt(id);
        lab.at(id, () => void lab.send(`${id}a`, { correlationId, sequenceStart: true }));
        lab.at(100 * id, () => void lab.send(`${id}b`, { correlationId, sequenceEnd: true }));
      }
      await lab.clock.run();
      assert.equal(lab.answers.length, 12);
      assert.deepEqual(new Set(placesOf(lab).values()), new Set(['m_1']));
      assert.ok(
        lab.answers.every(({ code }) => code === undefined),
        JSON.stringify(lab.answers),
      );
    });

    test(`gets those sequences that wait when it has recovered (${strategy})`, async () => {
      const lab = new SchedulerLab(sequence(strategy), 2);
      lab.dead.add('m_0');
      for (let id = 1; id <= 4; id++) {
        lab.at(id, () => void lab.send(`${id}`, { correlationId: BigInt(id), sequenceStart: true }));
      }
      lab.at(500, () => void lab.dead.delete('m_0'));
      await lab.clock.run();
      const places = placesOf(lab);
      assert.deepEqual(
        [1, 2, 3, 4].map((id) => places.get(`${id}`)),
        ['m_1', 'm_1', 'm_0', 'm_0'],
      );
      assert.ok(lab.answers.every(({ at }) => at < 1000));
    });
  }
});
