import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { VirtualClock } from '../../../test/support/engine/virtual-clock.js';
import { StepLimiter } from './step-limiter.js';

function limiter(limit: number) {
  const clock = new VirtualClock();
  const told: number[] = [];
  const ran: string[] = [];
  const places = new StepLimiter(limit, (inFlight) => told.push(inFlight), clock);
  const acquire = (name: string) => places.acquire(() => ran.push(name));
  return { clock, told, ran, places, acquire };
}

describe('a limiter of steps', () => {
  test('runs what finds a place, the rest in order as places come back', () => {
    const { ran, places, acquire } = limiter(2);
    for (const name of ['a', 'b', 'c', 'd']) acquire(name);
    assert.deepEqual(ran, ['a', 'b']);
    places.release();
    assert.deepEqual(ran, ['a', 'b', 'c']);
    places.release();
    places.release();
    assert.deepEqual(ran, ['a', 'b', 'c', 'd']);
    acquire('e');
    assert.deepEqual(ran, ['a', 'b', 'c', 'd', 'e']);
  });

  test('places that come back at once go to any number of waiting steps, in order', () => {
    const { places, acquire } = limiter(1);
    acquire('a');
    const refused: number[] = [];
    for (let i = 0; i < 50_000; i++) {
      places.acquire(() => {
        refused.push(i);
        places.release();
      });
    }
    places.release();
    assert.deepEqual([refused.length, refused[0], refused.at(-1)], [50_000, 0, 49_999]);
    let ran = false;
    places.acquire(() => (ran = true));
    assert.ok(ran, 'all places are free again');
  });

  test('what goes on without a place is counted, so that no place is given away twice', () => {
    const { ran, places, acquire } = limiter(1);
    acquire('a');
    const waiting = acquire('b')!;
    acquire('c');
    waiting.goOn();
    waiting.goOn();
    assert.deepEqual(ran, ['a', 'b']);
    places.release();
    assert.deepEqual(ran, ['a', 'b'], 'one of two places too many came back');
    places.release();
    assert.deepEqual(ran, ['a', 'b', 'c']);
  });

  test('after 300 seconds a request goes on and says so', async () => {
    const { clock, told, ran, acquire } = limiter(1);
    acquire('a');
    acquire('b');
    await clock.run(clock.nowNs() + 299.9e9);
    assert.deepEqual([ran, told], [['a'], []]);
    await clock.run(clock.nowNs() + 0.2e9);
    assert.deepEqual([ran, told], [['a', 'b'], [1]]);
  });

  test('a request that found its place sets no alarm off', async () => {
    const { clock, told, places, acquire } = limiter(1);
    acquire('a');
    acquire('b');
    places.release();
    await clock.run();
    assert.deepEqual(told, []);
  });
});
