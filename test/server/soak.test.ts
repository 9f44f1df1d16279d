/** A short form of `npm run soak`: every response belongs to its request in every element, none is lost, none comes twice. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { pythonWithNumpy } from '../support/programs/python.js';
import '../support/ledger/ledger.js';

const SOAK = fileURLToPath(new URL('../../bench/soak/main.js', import.meta.url));

test('clients of every kind at once: every response names its request', async () => {
  const python = pythonWithNumpy();
  const args = ['--minutes', '0.3', '--share', '0.15', ...(python === undefined ? [] : ['--python', python])];
  const child = spawn(process.execPath, [SOAK, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const status = await new Promise((resolve) => child.on('close', resolve));
  assert.equal(status, 0, output);
  assert.match(output, /^small numbers +[1-9]/m, output);
});
