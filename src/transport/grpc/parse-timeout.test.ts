import assert from 'node:assert/strict';
import test from 'node:test';
import { parseTimeout } from './parse-timeout.js';
import { encodeStatusMessage } from './status-message.js';

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

test('what is no timeout is none', () => {
  for (const text of ['', '1', 'S', '1s', '-1S', '1.5S', ' 1S', '123456789S', '1SS']) {
    assert.equal(parseTimeout(text), undefined, text);
  }
});

test('status messages are percent-encoded', () => {
  assert.equal(encodeStatusMessage("plain text, 'quoted' ~!"), "plain text, 'quoted' ~!");
  assert.equal(encodeStatusMessage('100%\n'), '100%25%0A');
  assert.equal(encodeStatusMessage('größe \u{1f600}'), 'gr%C3%B6%C3%9Fe %F0%9F%98%80');
});
