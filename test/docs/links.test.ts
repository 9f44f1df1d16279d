/** Links between the pages lead somewhere, and a reader who begins with README.md finds every page. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const FOLDERS = ['', 'docs', 'fixtures', '.github'];
const PAGES = FOLDERS.flatMap((folder) =>
  readdirSync(path.join(ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => path.join(folder, name)),
);

/** Links of a page to files of the project: the file, from the project's root, and the heading behind `#`. */
function linksOf(page: string): { file: string; heading: string }[] {
  const text = readFileSync(path.join(ROOT, page), 'utf8').replace(/^```[\s\S]*?^```$/gm, '');
  return [...text.matchAll(/\]\(([^)#\s]*)(?:#([^)\s]*))?\)/g)]
    .filter(([, target = '']) => !/^[a-z]+:/.test(target))
    .map(([, target = '', heading = '']) => ({
      file: target === '' ? page : path.join(path.dirname(page), target),
      heading,
    }));
}

/** Headings of a page in the form in which links name them. */
function headingsOf(page: string): Set<string> {
  const lines = readFileSync(path.join(ROOT, page), 'utf8').split('\n');
  const headings = lines.flatMap((line) => /^#+ (.*)$/.exec(line)?.[1] ?? []);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    ),
  );
}

for (const page of PAGES) {
  test(`${page}: its links lead to files and headings that exist`, () => {
    for (const { file, heading } of linksOf(page)) {
      assert.ok(existsSync(path.join(ROOT, file)), `there is no ${file}`);
      if (heading !== '') assert.ok(headingsOf(file).has(heading), `${file} has no heading #${heading}`);
    }
  });
}

test('README.md leads to every page', () => {
  const linked = new Set(linksOf('README.md').map(({ file }) => file));
  const missing = PAGES.filter((page) => page !== 'README.md' && !page.startsWith('.github') && !linked.has(page));
  assert.deepEqual(missing, []);
});
