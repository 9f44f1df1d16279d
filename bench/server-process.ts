import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Root of the project. */
export const ROOT = path.resolve(import.meta.dirname, '../..');

/** Linux counts CPU time of processes in this many ticks a second on every platform that Node runs on. */
const TICKS_PER_SECOND = 100;

/** A server under test in a process of its own. */
export interface ServerProcess {
  readonly httpPort: number;
  readonly grpcPort: number;
  /** 0 where there is none. */
  readonly metricsPort: number;
  /** Milliseconds from the start of the process until it said that it serves. */
  readonly startMs: number;
  readonly pid: number;
  /** CPU seconds so far of all its threads and of its child processes (Linux). */
  cpuSeconds(): number;
  /** Resident memory in MiB (Linux). */
  residentMiB(): number;
  stop(): Promise<void>;
}

/** `triton serve` on free ports over a repository. `nodeArgs` are for the runtime itself. */
export async function startTriton(
  repository: string,
  args: readonly string[] = [],
  nodeArgs: readonly string[] = [],
): Promise<ServerProcess> {
  const ports = ['--http-port', '0', '--grpc-port', '0', '--metrics-port', '0'];
  const begin = performance.now();
  const child = launch([
    ...nodeArgs,
    path.join(ROOT, 'bin/triton.js'),
    'serve',
    '--model-repository',
    repository,
    ...ports,
    ...args,
  ]);
  const services = ['HTTPService', 'GRPCInferenceService', 'Metrics Service'];
  const found = await waitFor(
    child,
    services.map((service) => new RegExp(`Started ${service} at [^"\\s]*:(\\d+)`)),
  );
  return describeProcess(
    child,
    { http: Number(found[0]), grpc: Number(found[1]), metrics: Number(found[2]) },
    performance.now() - begin,
  );
}

/** One of the bare servers beside this file: prints `port N` when it listens. */
export async function startBare(script: string, args: readonly string[] = []): Promise<ServerProcess> {
  const begin = performance.now();
  const child = launch([path.join(import.meta.dirname, script), ...args]);
  const [port] = await waitFor(child, [/(?:port )?(\d+)/]);
  return describeProcess(child, { http: Number(port), grpc: Number(port) }, performance.now() - begin);
}

function launch(args: readonly string[]): ChildProcess {
  return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
}

/** First group of each pattern in the child's output; rejects when the child ends before. */
function waitFor(child: ChildProcess, patterns: readonly RegExp[]): Promise<string[]> {
  let seen = '';
  return new Promise((resolve, reject) => {
    const look = (text: string): void => {
      seen += text;
      const found = patterns.map((pattern) => pattern.exec(seen)?.[1]);
      if (found.every((text) => text !== undefined)) resolve(found as string[]);
    };
    child.stdout?.setEncoding('utf8').on('data', look);
    child.stderr?.setEncoding('utf8').on('data', look);
    child.on('error', reject);
    child.on('close', (status) => reject(new Error(`the server ended with status ${status}:\n${seen}`)));
  });
}

/** Ports that a child serves on; without one for metrics there are none. */
interface Ports {
  readonly http: number;
  readonly grpc: number;
  readonly metrics?: number;
}

/** A child that serves on these ports. */
export function describeProcess(
  child: ChildProcess,
  { http: httpPort, grpc: grpcPort, metrics: metricsPort = 0 }: Ports,
  startMs: number,
): ServerProcess {
  const exited = new Promise<void>((resolve) => child.on('close', () => resolve()));
  return {
    httpPort,
    grpcPort,
    metricsPort,
    startMs,
    pid: child.pid ?? 0,
    cpuSeconds() {
      const pid = child.pid ?? 0;
      return [pid, ...childrenOf(pid)].reduce((sum, one) => sum + cpuSecondsOf(one), 0);
    },
    residentMiB() {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
      return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
    },
    async stop() {
      child.kill('SIGTERM');
      await exited;
    },
  };
}

function cpuSecondsOf(pid: number): number {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return 0; // a child that ended between being listed and being read
  }
  const fields = text.split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Ids of the child processes of a process (Linux). */
export function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === pid)
    .map(Number);
}

function parentOf(pid: string): number {
  try {
    return Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    return -1; // it ended meanwhile
  }
}
