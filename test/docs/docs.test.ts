/** Every command and program in the pages for users and contributors is run: what a page shows works. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { stepsOf } from './page.js';
import { PageSession } from './page-session.js';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(path.join(ROOT, 'docs'))
    .filter((file) => file.endsWith('.md'))
    .sort()
    .map((file) => `docs/${file}`),
];

for (const page of PAGES) {
  const steps = stepsOf(readFileSync(path.join(ROOT, page), 'utf8'));
  if (steps.length === 0) continue;
  test(`${page}: its ${steps.length} commands and programs do what they say`, async () => {
    const session = new PageSession();
    try {
      for (const step of steps) await session.follow(step);
    } finally {
      await session.end();
    }
  });
}

test('the pages show commands', () => {
  const commands = PAGES.flatMap((page) => stepsOf(readFileSync(path.join(ROOT, page), 'utf8')));
  assert.ok(commands.length >= 10);
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
