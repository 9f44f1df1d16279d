import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { SHIPPED_MODELS } from '../../base/package.js';

const TRITON = fileURLToPath(new URL('../../../../bin/triton.js', import.meta.url));

/** Runs a shell line in which T is the program; the status is that of the program, not of its reader. */
function shell(line: string): { status: number | null; stderr: string } {
  const script = `T() { "${process.execPath}" "${TRITON}" "$@"; }\n${line}\nexit \${PIPESTATUS[0]}`;
  return spawnSync('bash', ['-c', script], { encoding: 'utf8', timeout: 120_000 });
}

/** Every command, with arguments that make it print. */
const COMMANDS = [
  '--help',
  '--version',
  'serve --help',
  'repo --help',
  `repo list ${SHIPPED_MODELS}`,
  `repo show simple --repository ${SHIPPED_MODELS}`,
  `repo show simple --format json --repository ${SHIPPED_MODELS}`,
  `repo validate --no-run --show-effective ${SHIPPED_MODELS}`,
  'repo fetch --list',
  'perf --help',
  'doctor',
];

test('a reader that goes away before the first line ends every command quietly', () => {
  for (const command of COMMANDS) {
    const { status, stderr } = shell(`T ${command} | true`);
    assert.equal(stderr, '', command);
    assert.ok(status === 0 || status === 141 || (command === 'doctor' && status === 1), `${command}: status ${status}`);
  }
});

test('output on a full disk is one line of error', () => {
  for (const command of COMMANDS.filter((each) => !each.startsWith('serve'))) {
    const { status, stderr } = shell(`T ${command} > /dev/full`);
    assert.match(stderr, /^triton.*: the output cannot be written: ENOSPC: no space left on device, write\n$/, command);
    assert.equal(status, 1, command);
  }
});
