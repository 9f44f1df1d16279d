/**
 * NVIDIA's client library, unmodified, all four transports: every call's response is compared with what the models must
 * answer. The checks are Python programs beside this file.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { DATATYPES } from '../../src/protocol/datatype.js';
import { NEEDS_SHARED_MEMORY } from '../support/machine/linux-only.js';
import { pythonWithClients } from '../support/programs/python.js';
import { identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';

const SCRIPT = fileURLToPath(new URL('../../../test/clients/run_checks.py', import.meta.url));
const FIXTURES = ['models', 'models_python'].map((name) =>
  fileURLToPath(new URL(`../../../fixtures/${name}`, import.meta.url)),
);
const LOADED = [
  'simple',
  'simple_sequence',
  'count_down',
  'any',
  'big',
  'raw',
  'scores',
  'pairs',
  'waits',
  'simple_identity_words',
];
const KINDS = ['http', 'http.aio', 'grpc', 'grpc.aio'] as const;
const python = pythonWithClients();

const batchesOfTwo = (delay: number): string =>
  `max_batch_size: 2 dynamic_batching { preferred_batch_size: [ 2 ] max_queue_delay_microseconds: ${delay} }`;

const repository = makeRepository({
  'any/config.pbtxt': `backend: "identity" max_batch_size: 0\n${DATATYPES.map((datatype) => {
    const type = datatype === 'BYTES' ? 'TYPE_STRING' : `TYPE_${datatype}`;
    return `input { name: "INPUT_${datatype}" data_type: ${type} dims: [ -1 ] }
output { name: "OUTPUT_${datatype}" data_type: ${type} dims: [ -1 ] }`;
  }).join('\n')}`,
  'any/1/.keep': '',
  ...identityModel('big', [['TYPE_FP32', '[ -1, -1 ]']], 'max_batch_size: 0'),
  ...identityModel('raw', [['TYPE_INT32', '[ 16 ]']]),
  ...Object.assign(
    {},
    ...KINDS.map((kind) => identityModel(`later_${kind.replace('.', '_')}`, [['TYPE_UINT8', '[ 4 ]']])),
  ),
  ...identityModel('simple_identity_words', [['TYPE_STRING', '[ -1 ]']]),
  'scores/config.pbtxt': `backend: "identity" max_batch_size: 4
input { name: "INPUT0" data_type: TYPE_FP32 dims: [ 4 ] }
output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 4 ] label_filename: "labels.txt" }`,
  'scores/labels.txt': 'pear\nplum\nquince\n',
  'scores/1/.keep': '',
  // Two requests make a batch; one alone waits in the queue.
  ...identityModel('pairs', [['TYPE_UINT8', '[ 4 ]']], batchesOfTwo(100_000_000)),
  ...identityModel('waits', [['TYPE_UINT8', '[ 4 ]']], batchesOfTwo(2_000_000)),
});
let server: TestServer;

before(async () => {
  if (python === undefined) return;
  server = await startTestServer(
    [...FIXTURES, repository.path],
    [
      '--allow-client-shm=true',
      '--model-control-mode=explicit',
      `--backend-config=python,python-executable=${python}`,
      ...LOADED.map((name) => `--load-model=${name}`),
    ],
  );
});

after(async () => {
  await server?.stop();
  repository.remove();
});

interface Line {
  readonly check?: string;
  readonly error?: string | null;
  readonly done?: number;
}

/** Every line that the program printed, and how it ended. */
function runChecks(kind: string): Promise<{ lines: Line[]; status: number | null; stderr: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(python!, ['-B', SCRIPT, kind, String(server.http), String(server.grpc)], {
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 120_000,
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (part: string) => (stdout += part));
    child.stderr.setEncoding('utf8').on('data', (part: string) => (stderr += part));
    child.on('error', reject);
    child.on('close', (status) => {
      const lines = stdout.split('\n').filter((line) => line.startsWith('{'));
      resolve({ lines: lines.map((line) => JSON.parse(line) as Line), status, stderr });
    });
  });
}

describe("NVIDIA's client library", { skip: python === undefined || NEEDS_SHARED_MEMORY.skip }, () => {
  for (const kind of KINDS) {
    test(kind, async (t) => {
      const { lines, status, stderr } = await runChecks(kind);
      const checks = lines.filter(({ check }) => check !== undefined);
      for (const { check = '', error } of checks) {
        await t.test(check, () => assert.equal(error, null, error ?? ''));
      }
      assert.equal(status, 0, stderr);
      assert.equal(lines.at(-1)?.done, checks.length, stderr);
      assert.ok(checks.length >= 20, `only ${checks.length} checks`);
    });
  }
});
