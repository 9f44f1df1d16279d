import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { LoadPlan, LoadResult } from './plan.js';

/** Runs the load generator in a process of its own. Rejects with what it printed when a request fails. */
export function runLoad(plan: LoadPlan): Promise<LoadResult> {
  const program = fileURLToPath(new URL('./main.js', import.meta.url));
  const child = spawn(process.execPath, [program, JSON.stringify(plan)], { stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '';
  let complaint = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint += text;
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (status) => {
      if (status === 0) resolve(JSON.parse(out) as LoadResult);
      else reject(new Error(`the load generator ended with status ${status}: ${complaint}`));
    });
  });
}
