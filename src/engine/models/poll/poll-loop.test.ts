import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PollLoop } from './poll-loop.js';

test('an interval longer than a timer of Node can wait is not taken for none', async () => {
  let looks = 0;
  const loop = new PollLoop(
    async () => void looks++,
    2_147_483_647,
    async () => void looks++,
  );
  loop.start();
  await new Promise((resolve) => setTimeout(resolve, 100));
  loop.stop();
  assert.equal(looks, 1);
});
