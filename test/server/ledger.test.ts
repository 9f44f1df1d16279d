/** The ledger reports what a test process leaves behind, each kind by name, and nothing of one that leaves nothing. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

const LEDGER = new URL('../support/ledger/ledger.js', import.meta.url).href;
const SERVER = new URL('../support/servers/test-server.js', import.meta.url).href;
const REPOSITORY = new URL('../support/repositories/make-repository.js', import.meta.url).href;
const IMPORTS = `import { startTestServer } from '${SERVER}'; import { makeRepository } from '${REPOSITORY}';`;

/** Runs a program under the ledger, as a test file runs. */
function underLedger(program: string): { status: number | null; stderr: string } {
  const env = { ...process.env };
  delete env['TRITON_TEST_LEDGER'];
  const args = [`--import=${LEDGER}`, '--input-type=module', '-e', program];
  const { status, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8' });
  return { status, stderr };
}

const LEAKS: readonly (readonly [what: string, program: string, listed: RegExp])[] = [
  [
    'an orphan of a child process',
    `import { spawnSync } from 'node:child_process'; spawnSync('sh', ['-c', 'exec sleep 1000 >/dev/null 2>&1 </dev/null &']);`,
    /process \d+ sleep 1000/,
  ],
  [
    'a temporary file',
    `import fs from 'node:fs'; import os from 'node:os'; fs.writeFileSync(os.tmpdir() + '/forgotten', '');`,
    /temporary file forgotten/,
  ],
  [
    'a descriptor',
    `import fs from 'node:fs'; fs.openSync('/etc/hosts'); fs.openSync('/etc/hosts');`,
    /2 descriptors of \/etc\/hosts/,
  ],
  [
    'a region of shared memory',
    `import fs from 'node:fs'; fs.writeFileSync('/dev/shm/triton-' + process.pid, '');
     process.on('exit', () => fs.rmSync('/dev/shm/triton-' + process.pid));`,
    /\/dev\/shm\/triton-\d+/,
  ],
  [
    'a server that was not stopped, with its timers',
    `${IMPORTS} const r = makeRepository({}); await startTestServer([r.path]);
     r.remove(); process.exit(0);`,
    /listening sockets[\s\S]*timer set at .*dist\/src\/server/,
  ],
];

if (process.platform === 'linux') {
  for (const [what, program, listed] of LEAKS) {
    test(`left behind: ${what}`, () => {
      const { status, stderr } = underLedger(program);
      assert.equal(status, 1, stderr);
      assert.match(stderr, listed);
    });
  }
}

test('a process that leaves nothing behind is not held up', () => {
  const { status, stderr } = underLedger(
    `${IMPORTS} const r = makeRepository({});
     const server = await startTestServer([r.path]); await server.stop(); r.remove();`,
  );
  assert.deepEqual([status, stderr], [0, '']);
});
