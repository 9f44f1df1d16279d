import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NamePattern } from './name-pattern.js';

test('patterns have the syntax of RE2, are found anywhere, and match in either case', () => {
  const cases: readonly (readonly [pattern: string, name: string, found: boolean])[] = [
    ['x-', 'X-Request', true],
    ['x-', 'my-x-request', true],
    ['^x-', 'my-x-request', false],
    ['(?-i)x-', 'X-Request', false],
    ['(?-i)x-', 'x-request', true],
    ['(?i)x-', 'X-Request', true],
    ['(?P<kind>trace|span)id', 'TRACEID', true],
    ['(?s)^a.b$', 'a\nb', true],
    ['^a.b$', 'a\nb', false],
    ['\\Ax\\z', 'x', true],
    ['[[:alpha:]]+_[[:digit:]]', 'ab_1', true],
    ['\\pL', 'é', true],
  ];
  for (const [pattern, name, found] of cases) {
    const compiled = new NamePattern(pattern);
    assert.equal(compiled.test(name), found, `${pattern} in ${JSON.stringify(name)}`);
    assert.equal(compiled.test(name), found, 'and again, remembered');
  }
});

test('what RE2 does not have is refused with its reason', () => {
  for (const [pattern, reason] of [
    ['[', 'missing closing ]'],
    ['a(?=b)', '(?='],
    ['(a)\\1', '\\1'],
    ['(', 'missing closing )'],
  ] as const) {
    assert.throws(
      () => new NamePattern(pattern),
      (error: Error) => error.message.includes(reason),
      pattern,
    );
  }
});

test('no name stalls: the work is linear in its length', () => {
  // A backtracking engine needs 2^64 steps for this name.
  assert.equal(new NamePattern('^(a+)+$').test(`${'a'.repeat(64)}!`), false);
});
