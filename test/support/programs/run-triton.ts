/** Runs `triton` as users do, to its end. */
import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The program, for tests that start it in a way of their own. */
export const TRITON = fileURLToPath(new URL('../../../../bin/triton.js', import.meta.url));

/** Longest that it may take unless a test says otherwise, in ms. */
const TIMEOUT_MS = 90_000;

/** How it is started. */
export interface RunOptions {
  readonly cwd?: string;
  /** Variables on top of those of this process; undefined takes one away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** What it reads from standard input. */
  readonly input?: string;
  /** Options of Node. */
  readonly nodeArgs?: readonly string[];
  readonly timeoutMs?: number;
}

/** What came of it. */
export interface ProgramRun {
  /** Null where a signal ended it, as the timeout does. */
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the program; this process goes on meanwhile, so a server in it can respond. */
export function runTriton(args: readonly string[], options: RunOptions = {}): Promise<ProgramRun> {
  const { file, all, common } = commandLine(args, options);
  const child = spawn(file, all, common);
  child.stdin.end(options.input ?? '');
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (status, signal) => resolve({ status, signal, stdout, stderr }));
  });
}

/** The same for tests that have nothing else to do meanwhile. */
export function runTritonSync(args: readonly string[], options: RunOptions = {}): ProgramRun {
  const { file, all, common } = commandLine(args, options);
  const more = { input: options.input ?? '', encoding: 'utf8', maxBuffer: 2 ** 28 } as const;
  const { status, signal, stdout, stderr } = spawnSync(file, all, { ...common, ...more });
  return { status, signal, stdout, stderr };
}

function commandLine(args: readonly string[], { cwd, env, nodeArgs = [], timeoutMs = TIMEOUT_MS }: RunOptions) {
  return {
    file: process.execPath,
    all: [...nodeArgs, TRITON, ...args],
    common: { timeout: timeoutMs, env: { ...process.env, ...env }, ...(cwd === undefined ? {} : { cwd }) },
  };
}
