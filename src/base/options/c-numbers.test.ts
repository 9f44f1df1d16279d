import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readDouble, readInt32, readLoose, readUint64 } from './c-numbers.js';

test('integers are read up to what does not belong to them', () => {
  assert.deepEqual(readInt32('4abc'), { value: 4 });
  assert.deepEqual(readInt32(' \t-12'), { value: -12 });
  assert.deepEqual(readInt32('1e3'), { value: 1 });
  assert.deepEqual(readInt32('0x10'), { value: 0 });
  assert.deepEqual(readInt32(''), { fault: 'invalid' });
  assert.deepEqual(readInt32('- 1'), { fault: 'invalid' });
  assert.deepEqual(readInt32('2147483648'), { fault: 'range' });
  assert.deepEqual(readInt32('-2147483648'), { value: -2147483648 });
});

test('unsigned integers wrap around', () => {
  assert.deepEqual(readUint64('-1'), { value: 2 ** 64 });
  assert.deepEqual(readUint64('18446744073709551616'), { fault: 'range' });
});

test('doubles may have names', () => {
  assert.deepEqual(readDouble('12.5x'), { value: 12.5 });
  assert.deepEqual(readDouble('.5'), { value: 0.5 });
  assert.deepEqual(readDouble('nan'), { value: Number.NaN });
  assert.deepEqual(readDouble('-inf'), { value: Number.NEGATIVE_INFINITY });
  assert.deepEqual(readDouble('1e400'), { fault: 'range' });
  assert.deepEqual(readDouble('e5'), { fault: 'invalid' });
});

test('atoi takes anything', () => {
  assert.equal(readLoose('abc'), 0);
  assert.equal(readLoose('7 '), 7);
});
