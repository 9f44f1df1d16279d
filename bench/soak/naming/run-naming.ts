import { Worker } from 'node:worker_threads';
import type { NamingPlan, NamingReport } from './thread.js';

/** Lets the clients whose responses name their request run in a thread of their own. */
export function runNaming(workerData: NamingPlan): Promise<NamingReport> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./thread.js', import.meta.url), { workerData });
    worker.once('message', resolve).once('error', reject);
    worker.once('exit', (status) => reject(new Error(`the thread of the clients ended with status ${status}`)));
  });
}

/** A table of what became of the requests, and what is wrong: nothing, when everything is right. */
export function describeNaming(report: NamingReport): { readonly table: string; readonly problems: string[] } {
  const { connections, responses, seconds, byKind, faults } = report;
  const lines = [
    `${'kind'.padEnd(20)}${['sent', 'right', 'wrong', 'lost', 'twice', 'failed'].map((text) => text.padStart(10)).join('')}`,
  ];
  const problems = [...faults];
  for (const [kind, { sent, right, wrong, lost, twice, failed }] of byKind) {
    lines.push(
      `${kind.padEnd(20)}${[sent, right, wrong, lost, twice, failed].map((count) => String(count).padStart(10)).join('')}`,
    );
    if (right !== sent || wrong + lost + twice + failed > 0) {
      problems.push(
        `${kind}: of ${sent} responses ${right} were right, ${wrong} wrong, ${lost} lost, ${twice} twice, ${failed} failed`,
      );
    }
  }
  lines.push(
    `${responses} responses over ${connections} connections in ${seconds.toFixed(0)} s, ${(responses / seconds).toFixed(0)} a second`,
  );
  return { table: lines.join('\n'), problems };
}
