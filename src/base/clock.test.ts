import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SYSTEM_CLOCK } from './clock.js';

test('a timer for longer than Node can wait does not run at once', async () => {
  let runs = 0;
  const timer = SYSTEM_CLOCK.setTimer(() => runs++, 2 ** 40);
  await new Promise((resolve) => setTimeout(resolve, 50));
  SYSTEM_CLOCK.clearTimer(timer);
  assert.equal(runs, 0);
});
