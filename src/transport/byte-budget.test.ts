import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ByteBudget } from './byte-budget.js';

test('A budget refuses what exceeds it, takes nothing then, and has room again for what was given back', () => {
  const budget = new ByteBudget(100);
  assert.equal(budget.take(60), true);
  assert.equal(budget.take(41), false);
  assert.equal(budget.refused, 1);
  assert.equal(budget.used, 60);
  assert.equal(budget.take(40), true);
  budget.give(60);
  assert.equal(budget.take(60), true);
  assert.equal(budget.used, 100);
});

test('Giving back more than was taken is reported', () => {
  const budget = new ByteBudget(100);
  budget.take(10);
  assert.throws(() => budget.give(11), /11 bytes are given back to a budget of which 10 are used/);
  assert.equal(budget.used, 10);
});
