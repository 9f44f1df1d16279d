import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ClosedStreams } from './closed-streams.js';

describe('ClosedStreams', () => {
  test('remembers the last 1024 streams that were reset', () => {
    const closed = new ClosedStreams();
    for (let id = 1; id <= 2 * 1025; id += 2) closed.addReset(id);
    assert.deepEqual(
      [1, 3, 2049, 2051].map((id) => closed.wasReset(id)),
      [false, true, true, false],
    );
  });

  test('remembers the first 64 ranges of numbers that were passed over, ends included', () => {
    const closed = new ClosedStreams();
    for (let i = 0; i < 65; i++) closed.addSkipped(i * 10 + 1, i * 10 + 5);
    assert.deepEqual(
      [0, 1, 5, 7, 631, 635, 641].map((id) => closed.wasSkipped(id)),
      [false, true, true, false, true, true, false],
    );
  });
});
