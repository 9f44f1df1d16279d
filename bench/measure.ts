import type { LoadPlan, LoadResult } from './load/plan.js';
import { runLoad } from './load/run-load.js';
import type { ServerProcess } from './server-process.js';

/** A load result with the server's CPU per request. */
export interface Measured extends LoadResult {
  readonly perSecond: number;
  readonly cpuUsPerRequest: number;
}

/** A server and the load for it. */
export interface Contestant {
  readonly name: string;
  readonly server: ServerProcess;
  readonly plan: LoadPlan;
}

/** One timed run against one server. */
export async function measure({ server, plan }: Contestant): Promise<Measured> {
  const before = server.cpuSeconds();
  const result = await runLoad(plan);
  const cpu = server.cpuSeconds() - before;
  return { ...result, perSecond: result.count / result.seconds, cpuUsPerRequest: (cpu / result.count) * 1e6 };
}

/**
 * Alternates between contestants, so that whatever else the machine does falls on all of them, and gives each one's
 * runs in order. The first round warms up and is dropped.
 */
export async function alternate(contestants: readonly Contestant[], rounds: number): Promise<Measured[][]> {
  const runs: Measured[][] = contestants.map(() => []);
  for (let round = 0; round <= rounds; round++) {
    for (const [i, contestant] of contestants.entries()) {
      const measured = await measure(contestant);
      if (round > 0) runs[i]?.push(measured);
    }
  }
  return runs;
}

/** Median of a list. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

/** Median over rounds of one figure, and of its ratio to the other contestant in the same round. */
export function compare(
  ours: readonly Measured[],
  theirs: readonly Measured[],
  figure: (measured: Measured) => number,
): { ours: number; theirs: number; ratio: number } {
  const ratios = ours.map((measured, i) => figure(measured) / figure(theirs[i] as Measured));
  return { ours: median(ours.map(figure)), theirs: median(theirs.map(figure)), ratio: median(ratios) };
}
