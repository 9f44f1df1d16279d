/**
 * Pages whose commands are run, by the test file that runs them. Test files run side by side, and a test file as a whole
 * has a time limit: that is why there are several.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { stepsOf } from './page.js';
import { PageSession } from './page-session.js';

const ROOT = path.resolve(import.meta.dirname, '../../..');

/** Every page with commands or programs belongs to one group. */
export const PAGE_GROUPS = {
  'readme.test.ts': ['README.md', 'CONTRIBUTING.md'],
  'perf.test.ts': ['docs/perf.md'],
  'tools.test.ts': ['docs/client.md', 'docs/doctor.md', 'docs/environment.md', 'docs/image-client.md'],
  'serving.test.ts': ['docs/ensembles.md', 'docs/front-ends.md', 'docs/observability.md', 'docs/sequences.md'],
  'repositories.test.ts': ['docs/python-models.md', 'docs/repository.md', 'docs/stores.md', 'docs/validate.md'],
} as const;

/** Makes a test of each page: what it shows works. */
export function testPages(group: keyof typeof PAGE_GROUPS): void {
  for (const page of PAGE_GROUPS[group]) {
    const steps = stepsOf(readFileSync(path.join(ROOT, page), 'utf8'));
    test(`${page}: its ${steps.length} commands and programs do what they say`, async () => {
      const session = new PageSession();
      try {
        for (const step of steps) await session.follow(step);
      } finally {
        await session.end();
      }
    });
  }
}
