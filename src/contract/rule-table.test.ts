import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RULES } from './rule-table.js';

test('every rule says what it asks for and what to do, in whole sentences', () => {
  for (const [name, { about, remedy }] of Object.entries(RULES)) {
    assert.match(name, /^[a-z]+(-[a-z]+)*$/);
    assert.match(about, /^[A-Za-z].*\.$/, name);
    assert.match(remedy, /^[A-Z].*[.?]$/, name);
  }
});
