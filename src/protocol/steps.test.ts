import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Abandoned, inTurns, type Steps } from './steps.js';

/** Work of the given number of steps, each of which takes about 3 ms: a turn has time for three of them. */
function* work(steps: number, onStep: () => void): Steps<number> {
  for (let i = 0; i < steps; i++) {
    const until = performance.now() + 3;
    while (performance.now() < until);
    onStep();
    yield;
  }
  return steps;
}

test('all work under way proceeds alike, also where a turn has no time for a step of each', async () => {
  const done = new Array<number>(12).fill(0);
  let widest = 0;
  const jobs = done.map((_, i) =>
    inTurns(
      work(6, () => {
        done[i]!++;
        widest = Math.max(widest, Math.max(...done) - Math.min(...done));
      }),
    ),
  );
  assert.deepEqual(
    await Promise.all(jobs),
    done.map(() => 6),
  );
  assert.equal(widest, 1, 'steps between the one that is ahead and the one that is behind');
});

test('work that nobody wants any more ends where it stands, and the others go on', async () => {
  let steps = 0;
  const unwanted = inTurns(
    work(1000, () => steps++),
    () => steps >= 2,
  );
  const failing = inTurns(
    (function* (): Steps<number> {
      yield;
      throw new RangeError('the work has failed');
    })(),
  );
  const wanted = inTurns(work(5, () => {}));
  await Promise.all([
    assert.rejects(unwanted, Abandoned),
    assert.rejects(failing, RangeError),
    wanted.then((result) => assert.equal(result, 5)),
  ]);
  assert.equal(steps, 2);
});
