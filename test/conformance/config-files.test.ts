/** Every config.pbtxt that is at hand parses, prints and parses equal, and likewise by way of JSON. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { configFromJson, configToJson } from '../../src/modelconfig/json/config-json.js';
import { readPbtxt } from '../../src/modelconfig/pbtxt/read-pbtxt.js';
import { writePbtxt } from '../../src/modelconfig/pbtxt/write-pbtxt.js';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const RECORDINGS = path.resolve(ROOT, process.env['TRITON_RECORDINGS'] ?? '../shared/recordings');
/** Example configurations lie beside the recordings. */
const EXAMPLES = path.join(RECORDINGS, '../data');

test('the shipped configurations survive being printed', () => {
  const files = configurations(path.join(ROOT, 'fixtures'));
  assert.ok(files.length >= 10, `${files.length} files`);
  for (const file of files) assert.equal(roundTrip(file), true, `${file} is broken`);
});

test('recorded and example configurations survive being printed', (t) => {
  if (!existsSync(RECORDINGS)) {
    // Not an error, also with CI=true: the recordings are not part of the repository (CONTRIBUTING.md).
    console.error(`\n*** SKIPPED: no configurations at ${RECORDINGS}: only the shipped ones were read ***\n`);
    t.skip(`no configurations at ${RECORDINGS}`);
    return;
  }
  const files = [RECORDINGS, EXAMPLES].filter(existsSync).flatMap(configurations);
  const good = files.filter(roundTrip);
  assert.ok(good.length > files.length / 2, `${good.length} of ${files.length} could be read`);
});

/** True for a file that could be read; then what is printed of it is compared. Some are broken on purpose. */
function roundTrip(file: string): boolean {
  const { config, errors } = readPbtxt(readFileSync(file));
  if (errors.length > 0) return false;
  const again = readPbtxt(writePbtxt(config));
  assert.deepEqual(again.errors, [], file);
  assert.deepEqual(again.config, config, file);
  assert.deepEqual(configFromJson(configToJson(config)), config, file);
  return true;
}

function configurations(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) return configurations(file);
    return entry.name.endsWith('.pbtxt') ? [file] : [];
  });
}
