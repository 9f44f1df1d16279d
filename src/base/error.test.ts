import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TritonError } from './error.js';
import { OptionError } from './options/option-error.js';

test('anything thrown becomes a TritonError; what is one already stays as it is', () => {
  const usage = new OptionError('expected a number');
  assert.equal(TritonError.from(usage), usage);
  assert.equal(usage.toStatusText(), 'Invalid argument: expected a number');
  const cause = new RangeError('too large');
  const made = TritonError.from(cause);
  assert.deepEqual([made.code, made.message, made.cause], ['INTERNAL', 'too large', cause]);
  assert.equal(TritonError.from('text').message, 'text');
});
