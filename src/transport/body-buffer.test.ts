import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BodyBuffer } from './body-buffer.js';

test('parts are put together, for declared and unknown sizes', () => {
  const whole = Buffer.from(Array.from({ length: 100_000 }, (_, i) => i % 251));
  for (const declared of [0, whole.length]) {
    for (const reserved of [1, 1000, 1_000_000]) {
      const body = new BodyBuffer(declared, reserved);
      for (let at = 0; at < whole.length; at += 777) {
        body.append(whole, at, Math.min(at + 777, whole.length), declared);
      }
      assert.equal(body.length, whole.length);
      assert.ok(whole.equals(body.take()));
    }
  }
});

test('an announced size is not reserved beyond the bound', () => {
  const body = new BodyBuffer(1_000_000_000, 1000);
  body.append(Buffer.from('abc'), 0, 3, 1_000_000_000);
  assert.ok(body.take().buffer.byteLength <= 1000);
});
