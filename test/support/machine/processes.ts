/** Looks at processes, and waits until they are gone. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** True while a process runs; one that has ended and waits for its parent to notice does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !existsSync('/proc') || !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** Waits until a condition holds, at most 60 s. */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let i = 0; i < 2400; i++) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  assert.fail(what);
}

/** Waits until all these processes are gone. */
export async function untilGone(pids: readonly number[]): Promise<void> {
  await until(`processes must end: ${pids}`, () => !pids.some(isAlive));
}

/** Ids of the processes whose command line or environment has a text. Linux only. */
export function processesWith(text: string): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return [];
    try {
      const about = ['cmdline', 'environ'].map((file) => readFileSync(`/proc/${name}/${file}`, 'latin1'));
      return about.some((content) => content.includes(text)) ? [Number(name)] : [];
    } catch {
      return []; // It has ended.
    }
  });
}

/** Peak resident memory of this process so far, in MiB; undefined where the system does not report it. */
export function peakMemoryMiB(status = '/proc/self/status'): number | undefined {
  try {
    const peak = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(status, 'utf8'))?.[1];
    return peak === undefined ? undefined : Number(peak) / 1024;
  } catch {
    return undefined;
  }
}
