import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InflationTurn } from './inflation-turns.js';

const LARGE = 17 * 1024 * 1024;

function made(): { readonly turn: InflationTurn; readonly seen: string[] } {
  const seen: string[] = [];
  const turn = new InflationTurn(
    () => seen.push('pause'),
    () => seen.push('resume'),
  );
  return { turn, seen };
}

test('one large message is inflated at a time, in the order in which they became large; small ones do not wait', () => {
  const [first, second, third, small] = [made(), made(), made(), made()];
  for (const { turn } of [first, second, third]) turn.made(LARGE);
  small.turn.made(1024);
  assert.deepEqual(first.seen, ['pause', 'resume']);
  assert.deepEqual([second.seen, third.seen, small.seen], [['pause'], ['pause'], []]);
  first.turn.made(2 * LARGE);
  first.turn.end();
  assert.deepEqual([second.seen, third.seen], [['pause', 'resume'], ['pause']]);
  second.turn.end();
  assert.deepEqual(third.seen, ['pause', 'resume']);
  third.turn.end();
  small.turn.end();
});

test('who stops waiting takes no turn, and an end counts once', () => {
  const [first, second, third] = [made(), made(), made()];
  for (const { turn } of [first, second, third]) turn.made(LARGE);
  second.turn.end();
  first.turn.end();
  first.turn.end();
  assert.deepEqual([second.seen, third.seen], [['pause'], ['pause', 'resume']]);
  third.turn.end();
  const last = made();
  last.turn.made(LARGE);
  assert.deepEqual(last.seen, ['pause', 'resume']);
  last.turn.end();
});
