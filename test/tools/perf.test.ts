/** `triton perf` as users start it: shared memory, metrics of GPUs, periodic concurrency, TLS. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { NEEDS_SHARED_MEMORY } from '../support/machine/linux-only.js';
import { pythonWithNumpy } from '../support/programs/python.js';
import { type ProgramRun, runTriton } from '../support/programs/run-triton.js';
import { identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { hasOpenssl, makeCertificates } from '../support/servers/certificates.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';
import { httpRequest } from '../support/wire/http-request.js';

const FIXTURES = fileURLToPath(new URL('../../../fixtures/models', import.meta.url));
const PYTHON_FIXTURES = fileURLToPath(new URL('../../../fixtures/models_python', import.meta.url));

const files = makeRepository({
  ...identityModel('words', [['TYPE_STRING', '[ -1 ]']]),
  'words.json': JSON.stringify({
    data: [{ INPUT0: { content: ['a', 'bc'], shape: [2] } }, { INPUT0: { content: ['def', ''], shape: [2] } }],
  }),
  'count.json': JSON.stringify({ data: [{ FROM: [3] }, { FROM: [1] }] }),
});
const { file } = files;
let server: TestServer;

before(async () => {
  server = await startTestServer(
    [FIXTURES, files.path],
    [
      '--allow-client-shm=true',
      '--model-control-mode=explicit',
      ...['simple', 'words'].map((model) => `--load-model=${model}`),
    ],
  );
});

after(async () => {
  await server.stop();
  files.remove();
});

const perf = (...args: string[]): Promise<ProgramRun> => runTriton(['perf', ...args]);

const at = (protocol: 'http' | 'grpc'): string[] => ['-i', protocol, '-u', `127.0.0.1:${server[protocol]}`];
const succeeded = ({ status, stdout, stderr }: ProgramRun): string => {
  assert.equal(status, 0, stderr + stdout);
  return stdout;
};

describe('shared memory', NEEDS_SHARED_MEMORY, () => {
  const objects = (): string[] => readdirSync('/dev/shm').filter((name) => /^(INPUT|OUTPUT)\d/.test(name));
  const regions = async (): Promise<unknown> =>
    (await httpRequest(server.http, 'GET', '/v2/systemsharedmemory/status')).json;

  for (const protocol of ['http', 'grpc'] as const) {
    test(`${protocol}: requests with batches and strings go through it; nothing is left behind`, async () => {
      const before = objects();
      const simple = [...at(protocol), '-m', 'simple', '-b', '2', '--request-count', '20', '--shared-memory', 'system'];
      assert.match(succeeded(await perf(...simple)), /^ {4}Request count: 20$/m);
      const words = ['-m', 'words', '-b', '2', '--input-data', file('words.json'), '--output-shared-memory-size', '20'];
      const all = [...at(protocol), ...words, '--request-count', '10', '--shared-memory', 'system'];
      assert.match(succeeded(await perf(...all)), /^ {4}Request count: 10$/m);
      assert.deepEqual([await regions(), objects()], [[], before]);
    });
  }

  test('an output that does not fit fails the run, which still cleans up', async () => {
    const words = ['-m', 'words', '--input-data', file('words.json'), '--output-shared-memory-size', '2'];
    const { status, stderr } = await perf(...at('http'), ...words, '--request-count', '4', '--shared-memory', 'system');
    assert.equal(status, 99);
    assert.match(stderr, /shared memory size specified with the request for output 'OUTPUT0' \(2 bytes\) should be/);
    assert.deepEqual(await regions(), []);
  });

  test('a server that does not allow it is named before anything is sent', async () => {
    const closed = await startTestServer([FIXTURES], ['--model-control-mode=explicit', '--load-model=simple']);
    try {
      const { status, stderr } = await perf(
        '-u',
        `127.0.0.1:${closed.http}`,
        '-m',
        'simple',
        '--shared-memory',
        'system',
      );
      assert.equal(status, 99);
      assert.equal(
        stderr,
        "error: Unable to init infer data manager: Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable.\n\n\n",
      );
    } finally {
      await closed.stop();
    }
  });
});

describe('metrics of GPUs', () => {
  const names = ['nv_gpu_utilization', 'nv_gpu_power_usage', 'nv_gpu_memory_used_bytes', 'nv_gpu_memory_total_bytes'];
  const text = `# two\n${names.map((name) => ['x', 'y'].map((id) => `${name}{gpu_uuid="${id}"} 0.5\n`).join('')).join('')}`;
  const stub = createServer((request, response) => {
    response.writeHead(request.url === '/two' ? 200 : 404).end(text);
  });
  let url: string;

  before(async () => {
    await new Promise<void>((resolve) => stub.listen(0, '127.0.0.1', resolve));
    url = `127.0.0.1:${(stub.address() as AddressInfo).port}`;
  });
  after(() => {
    stub.closeAllConnections();
    stub.close();
  });

  const run = (metricsUrl: string, ...more: string[]): Promise<ProgramRun> =>
    perf(
      ...at('http'),
      '-m',
      'simple',
      '--request-count',
      '5',
      '--collect-metrics',
      '--metrics-url',
      metricsUrl,
      ...more,
    );

  test('are on the console and in the CSV', async () => {
    const csv = file('gpu.csv');
    const stdout = succeeded(await run(`${url}/two`, '--verbose-csv', '-f', csv, '--metrics-interval', '100'));
    assert.ok(stdout.includes('    Avg GPU Utilization:\n      x : 50%\n      y : 50%\n'), stdout);
    const [head = '', row = ''] = readFileSync(csv, 'utf8').split('\n');
    assert.match(head, /,Avg GPU Utilization,Avg GPU Power Usage,Max GPU Memory Usage,Total GPU Memory$/);
    assert.match(row, /,x:0\.5;y:0\.5;,x:0\.5;y:0\.5;,x:0;y:0;,x:0;y:0;$/);
  });

  test('an endpoint that is not there or answers an error ends the run', async () => {
    const error = await run(`${url}/none`);
    assert.deepEqual([error.status, error.stderr], [99, 'Metrics endpoint curling did not succeed.\n\n']);
    const none = await run('127.0.0.1:1/metrics');
    assert.deepEqual([none.status, none.stderr], [99, 'Unable to connect to Metrics endpoint 127.0.0.1:1/metrics\n\n']);
  });
});

test('periodic concurrency: requests join while others answer; all of them are exported', async (t) => {
  const python = pythonWithNumpy();
  if (python === undefined) return t.skip('no Python with numpy');
  const streaming = await startTestServer(
    [PYTHON_FIXTURES],
    ['--model-control-mode=explicit', '--load-model=count_down', `--backend-config=python,python-executable=${python}`],
  );
  try {
    const periodic = (range: string, period: string, out: string): Promise<ProgramRun> => {
      const load = ['--streaming', '--periodic-concurrency-range', range, '--request-period', period];
      const where = ['-i', 'grpc', '-u', `127.0.0.1:${streaming.grpc}`, '-m', 'count_down'];
      return perf(...where, ...load, '--input-data', file('count.json'), '--profile-export-file', out);
    };
    const stdout = succeeded(await periodic('2:5:1', '2', file('periodic.json')));
    assert.doesNotMatch(stdout, /Request concurrency|Inferences\/Second/);
    const { experiments } = JSON.parse(readFileSync(file('periodic.json'), 'utf8')) as {
      experiments: {
        experiment: unknown;
        requests: { request_inputs: { FROM: number }; response_outputs: { LEFT: number | '' }[] }[];
      }[];
    };
    assert.equal(experiments.length, 1);
    assert.deepEqual(experiments[0]!.experiment, { mode: 'concurrency', value: 1 });
    const { requests } = experiments[0]!;
    assert.equal(requests.length, 5);
    for (const { request_inputs, response_outputs } of requests) {
      const expected = request_inputs.FROM === 3 ? [3, 2, 1, 0, ''] : [1, 0, ''];
      assert.deepEqual(
        response_outputs.map(({ LEFT }) => LEFT),
        expected,
      );
    }
    const late = await periodic('1:3:1', '20', file('late.json'));
    assert.equal(late.status, 99);
    assert.match(late.stderr, /^Request received final response before request period was reached\./);
  } finally {
    await streaming.stop();
  }
});

test('TLS with certificates on both sides, over both protocols', async (t) => {
  if (!hasOpenssl()) return t.skip('no openssl');
  const pem = makeCertificates();
  const options = ['http', 'grpc'].flatMap((front) => [
    `--${front}-use-ssl-mutual=true`,
    `--${front}-server-cert=${pem.server.certificate}`,
    `--${front}-server-key=${pem.server.key}`,
    `--${front}-root-cert=${pem.authority}`,
  ]);
  const secure = await startTestServer(
    [FIXTURES],
    [...options, '--model-control-mode=explicit', '--load-model=simple'],
  );
  const run = (...args: string[]): Promise<ProgramRun> => perf('-m', 'simple', '--request-count', '5', ...args);
  try {
    const { certificate, key } = pem.client;
    const grpc = ['-i', 'grpc', '-u', `localhost:${secure.grpc}`, '--ssl-grpc-use-ssl'];
    const trusted = ['--ssl-grpc-root-certifications-file', pem.authority];
    const own = ['--ssl-grpc-private-key-file', key, '--ssl-grpc-certificate-chain-file', certificate];
    assert.match(succeeded(await run(...grpc, ...trusted, ...own)), /^ {4}Request count: 5$/m);
    const der = file('client.der');
    writeFileSync(
      der,
      Buffer.from(
        pem
          .read(certificate)
          .toString()
          .replace(/-----[^-]+-----|\s/g, ''),
        'base64',
      ),
    );
    const https = ['-u', `https://localhost:${secure.http}`, '--ssl-https-private-key-file', key];
    const asDer = ['--ssl-https-client-certificate-file', der, '--ssl-https-client-certificate-type', 'DER'];
    const known = ['--ssl-https-ca-certificates-file', pem.authority];
    assert.match(succeeded(await run(...https, ...asDer, ...known)), /^ {4}Request count: 5$/m);
    const unverified = ['--ssl-https-verify-peer', '0', '--ssl-https-verify-host', '0'];
    assert.match(succeeded(await run(...https, ...asDer, ...unverified)), /^ {4}Request count: 5$/m);
    const unknown = await run(...https, ...asDer);
    assert.equal(unknown.status, 99);
    assert.match(unknown.stderr, /^error: failed to get model metadata: HTTP client failed: SSL peer certificate/);
    const nobody = await run(...grpc, ...trusted);
    assert.equal(nobody.status, 99);
    assert.match(nobody.stderr, /^error: failed to get model metadata: failed to connect to all addresses/);
  } finally {
    await secure.stop();
    pem.remove();
  }
});

describe('a sweep that cannot be stable', () => {
  // No two windows are alike to the last digit.
  const never = ['-m', 'simple', '--concurrency-range', '1:3', '-p', '100', '-r', '3', '-s', '0'];

  test('stops, says at which level and why, and keeps the exit status of perf_analyzer', async () => {
    const { status, stderr, stdout } = await perf(...at('http'), ...never, '--strict');
    assert.equal(status, 2, stdout);
    assert.match(
      stderr,
      /^stopped at level 1 of 3: concurrency 1 is not stable: in the last windows throughput varied by [\d.]+ % and latency by [\d.]+ %, the bound is 0 % \(-s\)\. Raise --measurement-interval or -s, or measure all levels with --keep-going\.$/m,
    );
  });

  test('with --keep-going is measured to its end with marked rows; --strict has a status for that', async () => {
    const csv = file('keep-going.csv');
    const { status, stdout, stderr } = await perf(...at('http'), ...never, '--keep-going', '--strict', '-f', csv);
    assert.equal(status, 4, stderr);
    assert.equal(stdout.match(/^Concurrency: [123], throughput: .* usec \(unstable\)$/gm)?.length, 3, stdout);
    assert.doesNotMatch(stderr, /^stopped at/m);
    const [head = '', ...rows] = readFileSync(csv, 'utf8').trim().split('\n');
    assert.match(head, /,Verdict$/);
    assert.equal(rows.length, 3);
    for (const row of rows) assert.match(row, /,unstable$/);
    const lenient = await perf(...at('http'), ...never, '--keep-going');
    assert.equal(lenient.status, 0, lenient.stderr);
  });
});
