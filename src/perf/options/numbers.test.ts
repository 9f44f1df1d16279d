import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDouble, parseInt32, parseLoose, parseUint64 } from './numbers.js';

test('integers are read up to what does not belong to them', () => {
  assert.deepEqual(parseInt32('4abc'), { value: 4 });
  assert.deepEqual(parseInt32(' \t-12'), { value: -12 });
  assert.deepEqual(parseInt32('1e3'), { value: 1 });
  assert.deepEqual(parseInt32('0x10'), { value: 0 });
  assert.deepEqual(parseInt32(''), { fault: 'invalid' });
  assert.deepEqual(parseInt32('- 1'), { fault: 'invalid' });
  assert.deepEqual(parseInt32('2147483648'), { fault: 'range' });
  assert.deepEqual(parseInt32('-2147483648'), { value: -2147483648 });
});

test('unsigned integers wrap around', () => {
  assert.deepEqual(parseUint64('-1'), { value: 2 ** 64 });
  assert.deepEqual(parseUint64('18446744073709551616'), { fault: 'range' });
});

test('doubles may have names', () => {
  assert.deepEqual(parseDouble('12.5x'), { value: 12.5 });
  assert.deepEqual(parseDouble('.5'), { value: 0.5 });
  assert.deepEqual(parseDouble('nan'), { value: Number.NaN });
  assert.deepEqual(parseDouble('-inf'), { value: Number.NEGATIVE_INFINITY });
  assert.deepEqual(parseDouble('1e400'), { fault: 'range' });
  assert.deepEqual(parseDouble('e5'), { fault: 'invalid' });
});

test('atoi takes anything', () => {
  assert.equal(parseLoose('abc'), 0);
  assert.equal(parseLoose('7 '), 7);
});
