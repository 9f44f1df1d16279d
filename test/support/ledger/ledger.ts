/**
 * The ledger of a test process: what it holds of the machine (processes, threads, descriptors, timers, temporary files,
 * shared memory) is compared after every server that it stops, and once more when it ends, with what it held before. What is left
 * over fails the test, by name. Importing this file is all it takes; `scripts/test.js` loads it into every test file.
 *
 * Temporary files are distinguished from those of other processes by a TMPDIR of this process's own, which its child processes inherit as they
 * do TRITON_TEST_LEDGER, the mark by which their orphans are found.
 */
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isMainThread } from 'node:worker_threads';
import { descendants, type ListedProcess, processesMarked } from './processes.js';
import { productTimers, watchTimers } from './timers.js';

/** How long what is on its way out may take on a machine that is busy with other tests. */
const PATIENCE_MS = 5_000;
const LOOK_MS = 20;
const MARK = 'TRITON_TEST_LEDGER';

/**
 * Threads more than at the start that are not a leak: the pools of libuv, ONNX Runtime's default environment and libvips start their
 * threads with the first use and keep them for the life of the process. Worker threads of model instances that stay are many more, because
 * every test file stops many servers; each of them has an event loop of its own too, which `descriptors` sees.
 */
const POOL_THREADS = 12;

/**
 * Descriptors of a kind that may be more than at the start, because something opens them once for the life of the process: event
 * loops and pipes of the runtime's own threads, the files of libraries' data, the random device.
 */
const KEPT_ONCE: readonly (readonly [pattern: RegExp, most: number])[] = [
  [/^\/dev\/(u?random|null)$/, 4],
  [/\.(node|so|dat|pem|crt|wasm)(\.[\d.]+)?$/, 4],
  [/^\/(proc|sys)\//, 2],
  // Connections that the agents of fetch and of tests' clients keep open, unreferenced, until the process ends.
  [/^socket$/, 4],
  // Standard streams of this process: the test runner reads them.
  [/^pipe$/, 4],
  [/^anon_inode:\[event(poll|fd)\]$/, 3],
];

/** What a process holds: lists of lines that a person can read, by kind. */
interface Holdings {
  readonly processes: readonly string[];
  readonly threads: number;
  readonly descriptors: ReadonlyMap<string, number>;
  readonly timers: readonly string[];
  readonly listeners: number;
  readonly sharedMemory: ReadonlySet<string>;
}

/** Not in the process that runs the test files, and not in child processes and threads of one that keeps the ledger already. */
const enabled =
  process.platform === 'linux' &&
  isMainThread &&
  !process.execArgv.includes('--test') &&
  process.env[MARK] === undefined;
const folder = enabled ? begin() : '';
const atStart = enabled ? holdings(descendants()) : undefined;

/** Servers that run in this process now. */
let running = 0;
let before: Holdings | undefined;

/** A server starts in this process: what is held now is the measure when the last of them has stopped. */
export function serverStarts(): void {
  if (!enabled) return;
  if (running === 0) before = holdings(descendants());
  running++;
}

/** A server has stopped; rejects with a list when, the last one gone, more is held than before the first. */
export async function serverStopped(): Promise<void> {
  if (!enabled || --running > 0 || before === undefined) return;
  const measure = before;
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    const left = ofServers(measure, holdings(descendants()));
    // Another server has started meanwhile: what it holds is looked at when it stops.
    if (left.length === 0 || running > 0) return;
    if (performance.now() > end) throw new Error(`The server has stopped, but it left behind:\n${left.join('\n')}`);
    await delay(LOOK_MS);
  }
}

/** What only servers have, so that clients that the test still holds do not count. */
function ofServers(then: Holdings, now: Holdings): string[] {
  const runtime = now.processes.filter((line) => /\bpython/.test(line) && !then.processes.includes(line));
  const timers = [...now.timers];
  for (const line of then.timers) if (timers.includes(line)) timers.splice(timers.indexOf(line), 1);
  return [
    ...runtime.filter((line) => line.includes('triton_python')).map((line) => `  process ${line}`),
    ...timers.filter((line) => !line.includes('/dist/src/client/')).map((line) => `  timer set at ${line}`),
    ...(now.listeners > then.listeners ? [`  ${now.listeners - then.listeners} listening sockets`] : []),
    ...threads(then, now),
    ...memory(then, now),
  ];
}

function threads(then: Holdings, now: Holdings): string[] {
  const more = now.threads - Math.max(then.threads, (atStart?.threads ?? 0) + POOL_THREADS);
  return more > 0 ? [`  ${more} threads more than before, beside those of pools`] : [];
}

function memory(then: Holdings, now: Holdings): string[] {
  return [...now.sharedMemory].filter((name) => !then.sharedMemory.has(name)).map((name) => `  /dev/shm/${name}`);
}

function begin(): string {
  const own = mkdtempSync(path.join(tmpdir(), 'triton-ledger-'));
  process.env['TMPDIR'] = own;
  process.env[MARK] = own;
  watchTimers();
  process.on('exit', atExit);
  return own;
}

/** The last look. Nothing can be waited for but by blocking: what this process's own event loop ends has ended. */
function atExit(): void {
  const end = performance.now() + PATIENCE_MS;
  let left = leftAtEnd();
  while (left.length > 0 && performance.now() < end && left.every((line) => /process|shm/.test(line))) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_MS);
    left = leftAtEnd();
  }
  rmSync(folder, { recursive: true, force: true });
  for (const { pid } of processesMarked(`${MARK}=${folder}`)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended by itself meanwhile.
    }
  }
  if (left.length === 0) return;
  process.exitCode = 1;
  process.stderr.write(`\nLEDGER: ${process.argv[1]} left behind:\n${left.join('\n')}\n`);
}

function leftAtEnd(): string[] {
  const then = atStart as Holdings;
  const now = holdings(processesMarked(`${MARK}=${folder}`));
  const descriptors = [...now.descriptors].flatMap(([target, count]) => {
    const kept = KEPT_ONCE.find(([pattern]) => pattern.test(target))?.[1] ?? 0;
    const more = count - (then.descriptors.get(target) ?? 0) - kept;
    return more > 0 ? [`  ${more} descriptors of ${target}`] : [];
  });
  return [
    ...now.processes.map((line) => `  process ${line}`),
    ...(now.listeners > then.listeners ? [`  ${now.listeners - then.listeners} listening sockets`] : []),
    ...descriptors,
    ...now.timers.map((line) => `  timer set at ${line}`),
    ...readdirSync(folder).map((name) => `  temporary file ${name} in the folder for such files`),
    ...threads(then, now),
    ...memory(then, now),
  ];
}

function holdings(processes: readonly ListedProcess[]): Holdings {
  const descriptors = new Map<string, number>();
  for (const name of readdirSync('/proc/self/fd')) {
    try {
      const target = readlinkSync(`/proc/self/fd/${name}`).replace(/:\[\d+\]$/, '');
      descriptors.set(target, (descriptors.get(target) ?? 0) + 1);
    } catch {
      // The descriptor of the listing itself.
    }
  }
  return {
    processes: processes.map(({ pid, command }) => `${pid} ${command}`),
    threads: readdirSync('/proc/self/task').length,
    descriptors,
    timers: productTimers(),
    listeners: listeningSockets(),
    sharedMemory: new Set(readdirSync('/dev/shm').filter((name) => name.includes(`triton-${process.pid}`))),
  };
}

/** Sockets of this process that listen (state 0A in the kernel's tables). */
function listeningSockets(): number {
  const listening = new Set<string>();
  for (const table of ['tcp', 'tcp6']) {
    for (const line of readFileSync(`/proc/self/net/${table}`, 'utf8').split('\n').slice(1)) {
      const fields = line.trim().split(/\s+/);
      if (fields[3] === '0A') listening.add(`socket:[${fields[9]}]`);
    }
  }
  return readdirSync('/proc/self/fd').filter((name) => {
    try {
      return listening.has(readlinkSync(`/proc/self/fd/${name}`));
    } catch {
      return false;
    }
  }).length;
}
