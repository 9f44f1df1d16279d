import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTimeout } from './parse-timeout.js';

test('timeouts of every unit', () => {
  const values: [string, number][] = [
    ['1H', 3_600_000],
    ['2M', 120_000],
    ['3S', 3000],
    ['4m', 4],
    ['5000u', 5],
    ['6000000n', 6],
    ['99999999S', 99_999_999_000],
  ];
  for (const [text, ms] of values) assert.equal(Math.round(parseTimeout(text)! * 1e6) / 1e6, ms, text);
});

test('what is not a timeout is none', () => {
  for (const text of ['', '1', 'S', '1s', '-1S', '1.5S', ' 1S', '123456789S', '1SS']) {
    assert.equal(parseTimeout(text), undefined, text);
  }
});
