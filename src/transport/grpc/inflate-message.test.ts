import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { ByteBudget } from '../byte-budget.js';
import { inflateMessage } from './inflate-message.js';
import { RequestCharge } from './request-charge.js';

test('a call that is over ends the inflating of its message, and nothing stays counted', async () => {
  const budget = new ByteBudget(1e9);
  const charge = new RequestCharge(budget);
  const result = inflateMessage('gzip', gzipSync(Buffer.alloc(50_000_000)), 1e9, charge);
  charge.close();
  assert.equal(await result, 'noMemory');
  assert.equal(budget.used, 0);
});

test('what was inflated stays counted until the call is over', async () => {
  const budget = new ByteBudget(1e9);
  const charge = new RequestCharge(budget);
  const result = await inflateMessage('gzip', gzipSync(Buffer.alloc(1_000_000)), 1e9, charge);
  assert.ok(result instanceof Uint8Array);
  assert.equal(budget.used, 1_000_000);
  charge.close();
  assert.equal(budget.used, 0);
});
