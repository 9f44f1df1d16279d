/** Every command and program in the pages for users and contributors is run (test-pages.ts), and found. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { stepsOf } from './page.js';
import { PAGE_GROUPS } from './test-pages.js';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(path.join(ROOT, 'docs'))
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
];

test('every page with commands is run by one test file', () => {
  const pages = PAGES.filter((page) => stepsOf(readFileSync(path.join(ROOT, page), 'utf8')).length > 0);
  assert.deepEqual(Object.values(PAGE_GROUPS).flat().sort(), pages.sort());
  for (const [file, group] of Object.entries(PAGE_GROUPS)) {
    const source = path.join(ROOT, 'test/docs', file);
    assert.ok(existsSync(source) && readFileSync(source, 'utf8').includes(`testPages('${file}')`), `${file}: ${group}`);
  }
});

test('commands are found in a page', () => {
  const page = [
    '<!-- run: triton repo init models -->',
    '```sh',
    'triton serve --model-repository models',
    '# a remark',
    'FUZZ_RUNS=9 npm test -- docs # a remark',
    "curl localhost:8000 -d '{",
    "}'",
    'cat > file <<EOF',
    'it is text',
    'EOF',
    'triton repo validate other # exit status 1',
    '```',
    '<!-- not run: needs a container -->',
    '```sh',
    'docker run it',
    '```',
    '```js',
    'console.log(1);',
    '```',
    '```text',
    'not a command',
    '```',
  ].join('\n');
  assert.deepEqual(
    stepsOf(page).map(({ kind, text, status }) => [kind, text, status]),
    [
      ['command', 'triton repo init models', 0],
      ['serve', 'triton serve --model-repository models', 0],
      ['npm', 'FUZZ_RUNS=9 npm test -- docs # a remark', 0],
      ['command', "curl localhost:8000 -d '{\n}'", 0],
      ['command', 'cat > file <<EOF\nit is text\nEOF', 0],
      ['command', 'triton repo validate other # exit status 1', 1],
      ['program', 'console.log(1);\n', 0],
    ],
  );
});
