/** Servers whose output cannot be written: readers that go away or do not read, full disks, log files that cannot be opened. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../support/machine/free-port.js';
import { TRITON } from '../support/programs/run-triton.js';
import { identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { httpRequest } from '../support/wire/http-request.js';

const repository = makeRepository(identityModel('m', [['TYPE_INT32', '-1']]));
after(() => repository.remove());

const BODY = JSON.stringify({ inputs: [{ name: 'INPUT0', datatype: 'INT32', shape: [1, 4], data: [1, 2, 3, 4] }] });

interface Program {
  readonly port: number;
  /** Infers some times. */
  load(times: number): Promise<void>;
  metrics(): Promise<string>;
  /** Sends SIGTERM; resolves to the exit status, or the signal that it had to be ended with. */
  stop(): Promise<number | string>;
}

async function start(stdio: readonly ('ignore' | number)[], args: readonly string[] = []): Promise<Program> {
  const [port, metricsPort] = [await freePort(), await freePort()];
  const ports = [`--http-port=${port}`, `--metrics-port=${metricsPort}`, '--allow-grpc=false'];
  const where = ['--http-address=127.0.0.1', `--model-repository=${repository.path}`];
  const child = spawn(process.execPath, [TRITON, 'serve', ...where, ...ports, ...args], {
    stdio: ['ignore', ...stdio],
  });
  const ended = new Promise<number | string>((resolve) => {
    child.on('exit', (status, signal) => resolve(status ?? (signal as string)));
  });
  const isReady = (): Promise<boolean> =>
    httpRequest(port, 'GET', '/v2/health/ready').then(
      ({ status }) => status === 200,
      () => false,
    );
  for (let i = 0; !(await isReady()); i++) {
    assert.ok(i < 600 && child.exitCode === null, `the server does not come up (status ${child.exitCode})`);
    await delay(100);
  }
  return {
    port,
    async load(times) {
      const one = async (): Promise<void> => {
        const { status } = await httpRequest(port, 'POST', '/v2/models/m/infer', BODY);
        assert.equal(status, 200);
      };
      for (let i = 0; i < times; i += 25) await Promise.all(Array.from({ length: 25 }, one));
    },
    metrics: async () => (await httpRequest(metricsPort, 'GET', '/metrics')).text,
    async stop() {
      child.kill('SIGTERM');
      const giveUp = setTimeout(() => child.kill('SIGKILL'), 60_000);
      const status = await ended;
      clearTimeout(giveUp);
      return status;
    },
  };
}

/** A named pipe: its two ends, the reading one not blocking. */
function makePipe(): { reader: number; writer: number } {
  const file = path.join(repository.path, `../pipe-${process.pid}-${Math.random()}`);
  execFileSync('mkfifo', [file]);
  const reader = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(file, constants.O_WRONLY);
  execFileSync('rm', [file]);
  return { reader, writer };
}

test('a reader that goes away costs log records, which are counted, and nothing else', async () => {
  const { reader, writer } = makePipe();
  const server = await start([writer, writer], ['--log-verbose=1']);
  closeSync(writer);
  closeSync(reader);
  await server.load(25);
  assert.match(await server.metrics(), /\nnv_log_record_lost [1-9]/);
  assert.equal(await server.stop(), 0);
});

test('a reader that does not read neither stops the server nor its end', async () => {
  const { reader, writer } = makePipe();
  const server = await start([writer, writer], ['--log-verbose=2']);
  closeSync(writer);
  await server.load(1500);
  assert.match(await server.metrics(), /\nnv_log_record_lost [1-9]/);
  assert.equal(await server.stop(), 0);
  // What the pipe holds are whole records, and the begin of one at most.
  const held = Buffer.alloc(1 << 20);
  const lines = held.toString('utf8', 0, readSync(reader, held)).split('\n');
  lines.pop();
  for (const line of lines.filter((each) => /^[IWE]\d/.test(each)))
    assert.match(line, /^[IWE]\d{4} [\d:.]+ \d+ \S+\] ("|$)/);
  closeSync(reader);
});

test('records come whole and in order when the reader reads again, and say how many are missing', async () => {
  const { reader, writer } = makePipe();
  const server = await start([writer, writer], ['--log-verbose=1']);
  closeSync(writer);
  await server.load(3000);
  let text = '';
  const buffer = Buffer.alloc(1 << 20);
  for (let i = 0; i < 600 && !text.includes('could not be written'); i++) {
    try {
      text += buffer.toString('utf8', 0, readSync(reader, buffer));
    } catch (reason) {
      assert.equal((reason as NodeJS.ErrnoException).code, 'EAGAIN');
      await delay(50);
    }
  }
  assert.match(text, /\nW.*\] "[1-9]\d* log records could not be written and were dropped: Resource temporarily/);
  assert.equal(await server.stop(), 0);
  closeSync(reader);
});

test('a full disk under standard output or under the log file does not end the server', async () => {
  const full = openSync('/dev/full', 'w');
  const cases: [readonly ('ignore' | number)[], readonly string[]][] = [
    [[full, full], []],
    [['ignore', 'ignore'], ['--log-file=/dev/full']],
  ];
  for (const [stdio, args] of cases) {
    const server = await start(stdio, ['--log-verbose=1', ...args]);
    await server.load(3000);
    assert.match(await server.metrics(), /\nnv_log_record_lost [1-9]/);
    assert.equal(await server.stop(), 0);
  }
  closeSync(full);
});

test('a log file that cannot be opened: a warning on standard error, and the endpoint shows none', async () => {
  const pipe = path.join(repository.path, '../log-pipe');
  execFileSync('mkfifo', [pipe]);
  const cases = [
    ['/no/such/directory/log', 'No such file or directory'],
    [repository.path, 'Is a directory'],
    [pipe, 'nobody reads this pipe'],
  ] as const;
  const errors = path.join(repository.path, '../stderr');
  for (const [file, why] of cases) {
    const stderr = openSync(errors, 'w');
    const server = await start(['ignore', stderr], [`--log-file=${file}`]);
    closeSync(stderr);
    assert.match((await httpRequest(server.port, 'GET', '/v2/logging')).text, /"log_file":""/);
    assert.equal(await server.stop(), 0);
    assert.ok(readFileSync(errors, 'utf8').includes(`the log file '${file}' cannot be opened: ${why}`), why);
  }
  execFileSync('rm', [pipe, errors]);
});
