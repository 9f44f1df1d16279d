/** The variables of docs/environment.md are those that the program reads: none is missing, none is made up. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const PAGE = readFileSync(path.join(ROOT, 'docs/environment.md'), 'utf8');
/** What follows this heading is not read by files of this project. */
const FOREIGN = '## What Node.js and the libraries read';

/** Names in the style of variables that files which read the environment use for something else. */
const NO_VARIABLES = new Set([
  ...['UNKNOWN', 'INTERNAL', 'NOT_FOUND', 'INVALID_ARG', 'UNAVAILABLE', 'UNSUPPORTED', 'ALREADY_EXISTS', 'CANCELLED'],
  // Parameters of a model's configuration.
  ...['EXECUTION_ENV_PATH', 'FORCE_CPU_ONLY_INPUT_TENSORS', 'TRITON_BATCH_STRATEGY_PATH'],
  // A kind of instance.
  'KIND_GPU',
  // A kind of service, as the load generator prints it.
  'TRITON_C_API',
  // A constant of the API that Python models import.
  'TRITONSERVER_REQUEST_RELEASE_RESCHEDULE',
  'TRITONSERVER_REQUEST_RELEASE_ALL',
]);

/** First cells of the rows of all tables of a part of the page. */
function namesIn(part: string): Set<string> {
  const cells = part.split('\n').flatMap((line) => (line.startsWith('| `') ? [line.split('|')[1] ?? ''] : []));
  return new Set(cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)));
}

const own = namesIn(PAGE.slice(0, PAGE.indexOf(FOREIGN)));

/** A string that begins so is taken for a variable wherever it stands. */
const FAMILY = /^(?:TRITON|TRITONSERVER|AWS|AZURE|GOOGLE|OTEL|ORT)_/;

/** Source files that are shipped. */
function sources(): { file: string; text: string }[] {
  return ['src', 'python'].flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(ts|py)$/.test(file) && !/\.test\./.test(file))
      .map((file) => ({
        file: path.join(folder, file),
        text: readFileSync(path.join(ROOT, folder, file), 'utf8'),
      })),
  );
}

/** Variables by name, with a file that reads them; names that are put together (`OTEL_${...}`) by their beginning. */
function variablesOf(files: readonly { file: string; text: string }[]): {
  names: Map<string, string>;
  beginnings: Set<string>;
} {
  const names = new Map<string, string>();
  const beginnings = new Set<string>();
  for (const { file, text } of files) {
    const readsEnvironment = /\benv\b|\benviron/i.test(text);
    for (const [, name = ''] of text.matchAll(/\benv(?:iron(?:ment)?)?(?:\.|\[\s*['"])([A-Z][A-Z0-9_]*)\b/g)) {
      names.set(name, file);
    }
    for (const [, name = ''] of text.matchAll(/(?:getenv|environ\.get)\(\s*['"](\w+)['"]/g)) names.set(name, file);
    for (const [, name = ''] of text.matchAll(/['"]([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)['"]/g)) {
      if (readsEnvironment || FAMILY.test(name)) names.set(name, file);
    }
    if (!readsEnvironment) continue;
    for (const [, beginning = ''] of text.matchAll(/`([A-Z][A-Z0-9]*_)\$\{/g)) beginnings.add(beginning);
  }
  for (const name of NO_VARIABLES) names.delete(name);
  return { names, beginnings };
}

test('every variable that the code reads is on the page', () => {
  const missing = [...variablesOf(sources()).names].filter(([name]) => !own.has(name));
  assert.deepEqual(missing, [], 'add them to docs/environment.md, or to NO_VARIABLES if they are none');
});

test('every variable on the page is read by the code', () => {
  const { names, beginnings } = variablesOf(sources());
  assert.ok(names.size > 40);
  const made = [...own].filter((name) => !names.has(name) && ![...beginnings].some((start) => name.startsWith(start)));
  assert.deepEqual(made, []);
});

test('variables are found however they are read', () => {
  const text = [
    "process.env['ONE']",
    'process.env.TWO',
    "environment['THREE_A']",
    "value('member', 'FOUR_A')",
    'os.environ["FIVE"]',
    "os.environ.get('SIX')",
    'os.getenv("SEVEN")',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    'environment[`EIGHT_${name}`]',
  ].join('\n');
  const { names, beginnings } = variablesOf([{ file: 'file.ts', text }]);
  assert.deepEqual([...names.keys()].sort(), ['FIVE', 'FOUR_A', 'ONE', 'SEVEN', 'SIX', 'THREE_A', 'TWO']);
  assert.deepEqual([...beginnings], ['EIGHT_']);
});
