import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ByteBudget } from './byte-budget.js';
import { SendAccount } from './send-account.js';

test('what waits for a peer is counted for the process, and given back', () => {
  const budget = new ByteBudget(1_000_000);
  const one = new SendAccount(budget);
  const other = new SendAccount(budget);
  one.set(600_000);
  other.set(300_000);
  assert.equal(budget.used, 900_000);
  assert.equal(one.admits(100_000), true);
  assert.equal(other.admits(100_001), false);
  one.set(100_000);
  assert.equal(budget.used, 400_000);
  other.close();
  other.set(500_000);
  assert.equal(budget.used, 100_000);
  one.set(100);
  assert.equal(budget.used, 0);
});

test('what exceeds the budget is not counted, and not given back either', () => {
  const budget = new ByteBudget(100_000);
  const account = new SendAccount(budget);
  account.set(50_000);
  account.set(150_000);
  assert.equal(budget.used, 50_000);
  account.set(70_000);
  assert.equal(budget.used, 70_000);
  account.close();
  assert.equal(budget.used, 0);
});
