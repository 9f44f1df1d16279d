/** A Prometheus for tests: one that is installed, or Debian's package unpacked into a directory of this project. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../machine/free-port.js';
import { skipLoudly } from '../machine/skip-loudly.js';
import { temporaryDirectory } from '../machine/temporary-directory.js';

const CACHE = fileURLToPath(new URL('../../../../.venv/prometheus', import.meta.url));

/**
 * Path of the program: that of TRITON_PROMETHEUS, of the system, or one unpacked from Debian's package. Undefined, after
 * one loud line, when there is none; with CI=true it throws.
 */
export function prometheusProgram(): string | undefined {
  const unpacked = path.join(CACHE, 'usr/bin/prometheus');
  const candidates = [process.env['TRITON_PROMETHEUS'] ?? '', 'prometheus', unpacked].filter(Boolean);
  const found = candidates.find(runs) ?? (unpackPackage() && runs(unpacked) ? unpacked : undefined);
  if (found !== undefined) return found;
  skipLoudly('no Prometheus, and its package could not be had from apt: it did not scrape the server');
  return undefined;
}

function runs(program: string): boolean {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;
}

/** Only unpacks: nothing is installed, no service started. */
function unpackPackage(): boolean {
  const folder = mkdtempSync(path.join(tmpdir(), 'prometheus-package-'));
  const run = (program: string, ...args: string[]) =>
    spawnSync(program, args, { cwd: folder, stdio: ['ignore', 'ignore', 'ignore'], timeout: 100_000 }).status === 0;
  try {
    const got =
      run('apt-get', 'download', 'prometheus') ||
      (run('apt-get', 'update') && run('apt-get', 'download', 'prometheus'));
    const file = readdirSync(folder).find((name) => name.endsWith('.deb'));
    if (!got || file === undefined || !run('dpkg-deb', '-x', file, 'unpacked')) return false;
    mkdirSync(path.dirname(CACHE), { recursive: true });
    if (!existsSync(CACHE)) moveFolder(path.join(folder, 'unpacked'), CACHE);
    return true;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Directories of different file systems cannot be renamed into each other. */
function moveFolder(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch {
    spawnSync('cp', ['-r', from, to]);
  }
}

/** A sample of a response: labels and the value as text. */
export interface QueryResult {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [time: number, value: string];
}

/** A Prometheus that runs. */
export interface RunningPrometheus {
  /** Evaluates an expression now. Rejects with Prometheus's own words when it is wrong. */
  query(expression: string): Promise<readonly QueryResult[]>;
  /** The targets that it scrapes. */
  targets(): Promise<readonly { readonly health: string; readonly lastError: string; readonly scrapeUrl: string }[]>;
  stop(): Promise<void>;
}

/** Starts it with a configuration, its data in a directory that is removed with it. Resolves when it responds. */
export async function startPrometheus(program: string, configuration: string): Promise<RunningPrometheus> {
  const directory = temporaryDirectory({ 'prometheus.yml': configuration });
  const port = await freePort();
  const args = [
    `--config.file=${directory.file('prometheus.yml')}`,
    `--storage.tsdb.path=${directory.file('data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const child: ChildProcess = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr?.on('data', (part) => {
    log += String(part);
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const ask = async (target: string): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/${target}`);
    const answer = (await response.json()) as { status: string; error?: string; data: unknown };
    if (answer.status !== 'success') throw new Error(answer.error);
    return answer.data;
  };
  const prometheus: RunningPrometheus = {
    query: async (expression) =>
      ((await ask(`query?query=${encodeURIComponent(expression)}`)) as { result: QueryResult[] }).result,
    targets: async () =>
      ((await ask('targets')) as { activeTargets: Awaited<ReturnType<RunningPrometheus['targets']>> }).activeTargets,
    async stop() {
      child.kill('SIGTERM');
      await exited;
      directory.remove();
    },
  };
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`Prometheus ended: ${log}`);
    return await prometheus.query('1').catch(() => undefined);
  }, 'Prometheus answers');
  return prometheus;
}

/** Asks again and again, for a minute, until there is a result. `what` is wanted, for the error. */
export async function eventually<Result>(attempt: () => Promise<Result | undefined>, what: string): Promise<Result> {
  const end = performance.now() + 60_000;
  for (;;) {
    const result = await attempt();
    if (result !== undefined) return result;
    if (performance.now() > end) throw new Error(`no result within a minute: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
