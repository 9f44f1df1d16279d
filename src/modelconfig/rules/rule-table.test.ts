import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { RULES } from './rule-table.js';

const SOURCE = path.resolve(import.meta.dirname, '../../../../src');
/** Folders whose files make findings. */
const FOLDERS = ['modelconfig/rules', 'repository', 'backends/onnxruntime', 'backends/python'];

/** Kebab-case words that are no rules, in those folders. */
const USE =
  /(?:rule: |(?:add|fail|faults\.add|faultOf)\((?:reason, |failure, |new TritonError\([^)]*\), )?\s*)'([a-z]+(?:-[a-z]+)*)'/g;

test('every rule that a finding may name is in the table', () => {
  const used = new Set<string>();
  for (const folder of FOLDERS) {
    for (const file of readdirSync(path.join(SOURCE, folder))) {
      if (!file.endsWith('.ts') || file.endsWith('.test.ts')) continue;
      for (const [, rule] of readFileSync(path.join(SOURCE, folder, file), 'utf8').matchAll(USE)) {
        if (rule?.includes('-')) used.add(rule);
      }
    }
  }
  assert.ok(used.size > 60, `${used.size} rules found`);
  assert.deepEqual(
    [...used].filter((rule) => !Object.hasOwn(RULES, rule)),
    [],
  );
});

test('every rule says what it asks for and what to do, in whole sentences', () => {
  for (const [name, { about, remedy }] of Object.entries(RULES)) {
    assert.match(name, /^[a-z]+(-[a-z]+)*$/);
    assert.match(about, /^[A-Za-z].*\.$/, name);
    assert.match(remedy, /^[A-Z].*[.?]$/, name);
  }
});
