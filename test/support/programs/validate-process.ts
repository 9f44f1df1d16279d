/** Runs `triton repo validate` as a process and watches what it takes. */
import { spawn } from 'node:child_process';
import { peakMemoryMiB } from '../machine/processes.js';
import { TRITON } from './run-triton.js';

const LOOK_EVERY_MS = 20;

/** What came of it. */
export interface ValidateRun {
  readonly status: number | null;
  readonly out: string;
  readonly complaint: string;
  readonly seconds: number;
  /** Peak resident memory; 0 where the system does not report it. */
  readonly peakMiB: number;
}

/** Runs the command to its end. `python` is the interpreter of Python models; without one they are not imported. */
export async function runValidate(
  directory: string,
  args: readonly string[],
  python: string | undefined,
): Promise<ValidateRun> {
  const start = performance.now();
  const child = spawn(
    process.execPath,
    [TRITON, 'repo', 'validate', directory, ...args, ...(python === undefined ? ['--no-run'] : [])],
    { env: { ...process.env, ...(python === undefined ? {} : { TRITON_PYTHON: python }) } },
  );
  let peakMiB = 0;
  const look = setInterval(() => {
    peakMiB = Math.max(peakMiB, peakMemoryMiB(`/proc/${child.pid}/status`) ?? 0);
  }, LOOK_EVERY_MS);
  let out = '';
  let complaint = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint += text;
  });
  const status = await new Promise<number | null>((resolve) => child.on('close', resolve));
  clearInterval(look);
  return { status, out, complaint, seconds: (performance.now() - start) / 1000, peakMiB };
}
