/**
 * Loaded into a server before its own code (`node --import`): makes calls at its boundaries fail or hang, chosen by a seed, while it is switched on.
 * SIGUSR2 switches. TRITON_FAULTS is `SEED,RATE,FILE`: one call in RATE gets a fault; what was done is written to FILE at the
 * switch-off, as lines of `fault call count`.
 */
import childProcess from 'node:child_process';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import workerThreads from 'node:worker_threads';
import { Random } from '../fuzz/random.js';

const [seed = '1', rate = '10', reportFile = ''] = (process.env['TRITON_FAULTS'] ?? '').split(',');
const random = new Random(Number(seed));
const done = new Map<string, number>();
let on = false;
/** What ends hanging calls at the switch-off. */
const hanging = new Set<() => void>();
const originalWrite = fs.writeFileSync;

if (workerThreads.isMainThread && reportFile !== '') {
  process.on('SIGUSR2', () => {
    on = !on;
    if (on) return;
    for (const end of hanging) end();
    hanging.clear();
    originalWrite(reportFile, [...done].map(([fault, count]) => `${fault} ${count}\n`).join(''));
  });
  wrapFiles();
  wrapProcesses();
  wrapSockets();
  syncBuiltinESMExports();
}

/** Whether this call gets a fault. */
function strikes(): boolean {
  return on && random.below(Number(rate)) === 0;
}

function note(fault: string, call: string): void {
  const key = `${fault} ${call}`;
  done.set(key, (done.get(key) ?? 0) + 1);
}

/** An error as the system would give it; its message says that it was made here. */
function failure(call: string): NodeJS.ErrnoException {
  const code = random.pick(
    /write|mkdir|mkdtemp|copy|append/i.test(call) ? ['ENOSPC', 'EIO', 'EMFILE'] : ['EIO', 'EMFILE', 'EACCES'],
  );
  note(code, call);
  return Object.assign(new Error(`${code}: injected fault, ${call}`), { code, errno: -5, syscall: call });
}

type AnyFunction = (...args: unknown[]) => unknown;

function wrapFiles(): void {
  const names =
    'access appendFile copyFile fstat fsync lstat mkdir mkdtemp open opendir read readFile readdir readlink realpath rename rm stat truncate unlink write writeFile writev'.split(
      ' ',
    );
  const callbacks = fs as unknown as Record<string, AnyFunction>;
  const promises = fs.promises as unknown as Record<string, AnyFunction>;
  for (const name of names) {
    const plain = callbacks[name];
    if (plain !== undefined) callbacks[name] = Object.assign(withCallback(name, plain), plain);
    const sync = callbacks[`${name}Sync`];
    if (sync !== undefined) callbacks[`${name}Sync`] = Object.assign(throwing(`${name}Sync`, sync), sync);
    const promised = promises[name];
    if (promised !== undefined) promises[name] = rejecting(name, promised);
  }
}

function throwing(call: string, original: AnyFunction): AnyFunction {
  return function (this: unknown, ...args) {
    // What removes things is left alone where it cannot be tried again: a fault there would be a leak of this program's own making.
    if (strikes() && !/^(rm|unlink)/.test(call)) throw failure(call);
    return original.apply(this, args);
  };
}

function withCallback(call: string, original: AnyFunction): AnyFunction {
  return function (this: unknown, ...args) {
    const callback = args.at(-1);
    if (typeof callback !== 'function' || !strikes() || /^(rm|unlink)/.test(call)) return original.apply(this, args);
    if (random.below(3) > 0) {
      const error = failure(call);
      setImmediate(() => (callback as AnyFunction)(error));
      return undefined;
    }
    void pause(call).then(() => original.apply(this, args));
    return undefined;
  };
}

function rejecting(call: string, original: AnyFunction): AnyFunction {
  return async function (this: unknown, ...args) {
    if (!strikes() || /^(rm|unlink)/.test(call)) return await original.apply(this, args);
    if (random.below(3) > 0) throw failure(call);
    await pause(call);
    return await original.apply(this, args);
  };
}

/** Some calls take long, some do not end before the switch-off. */
async function pause(call: string): Promise<void> {
  const hangs = random.below(4) === 0;
  note(hangs ? 'hang' : 'delay', call);
  await new Promise<void>((resolve) => {
    hanging.add(resolve);
    if (!hangs) setTimeout(resolve, random.below(1500));
  });
}

function wrapProcesses(): void {
  const spawn = childProcess.spawn as unknown as AnyFunction;
  (childProcess as unknown as Record<string, AnyFunction>)['spawn'] = (...args) => {
    if (!strikes()) return spawn(...args);
    note('ENOENT', 'spawn');
    return spawn('/nonexistent/injected-fault', ...args.slice(1));
  };
  const { Worker } = workerThreads;
  class FaultyWorker extends Worker {
    constructor(...[file, options]: ConstructorParameters<typeof Worker>) {
      if (!strikes()) {
        super(file, options);
        return;
      }
      note('throw', 'Worker');
      super(`throw new Error('injected fault, Worker')`, { ...options, eval: true });
    }
  }
  (workerThreads as { Worker: unknown }).Worker = FaultyWorker;
}

function wrapSockets(): void {
  const { prototype } = net.Socket;
  const write = prototype.write as AnyFunction;
  prototype.write = function (this: net.Socket, ...args: unknown[]): boolean {
    if (this.remoteAddress !== undefined && strikes() && random.below(5) === 0) {
      note('ECONNRESET', 'socket');
      this.destroy(Object.assign(new Error('injected fault, socket'), { code: 'ECONNRESET' }));
      return false;
    }
    return write.apply(this, args) as boolean;
  } as typeof prototype.write;
}
