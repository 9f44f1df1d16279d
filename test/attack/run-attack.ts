import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { httpRequest } from '../support/wire/http-request.js';
import type { Attack } from './attack.js';
import type { AttackPlan, AttackReport } from './attacker.js';
import type { Monitor } from './monitor.js';
import type { ServerUnderAttack } from './server-under-attack.js';

/** What must hold. */
export interface Bounds {
  /** A health check takes at most that many ms. */
  readonly healthMs: number;
  /** Resident memory in MiB. */
  readonly residentMiB: number;
}

/** Far above every bound: the server is ended before the machine suffers. */
const KILL_MIB = 3000;
/** After the attack descriptors and queues go back within this time. */
const SETTLE_MS = 20_000;
/** Descriptors that may be more than before: those of the health checks in flight, and of libraries. */
const MORE_DESCRIPTORS = 8;

/** What one attack came to. */
export interface Outcome {
  readonly name: string;
  readonly seconds: number;
  readonly sent: number;
  readonly slowestMs: number;
  readonly machineMs: number;
  readonly peakMiB: number;
  readonly afterMiB: number;
  readonly right: number;
  readonly refused: number;
  /** Why it failed; empty when the server held. */
  readonly faults: readonly string[];
}

/** Attacks for `seconds` and looks at what becomes of the server and of the others. */
export async function runAttack(
  attack: Attack,
  server: ServerUnderAttack,
  monitor: Monitor,
  { seconds, bounds }: { seconds: number; bounds: Bounds },
): Promise<Outcome> {
  const descriptors = server.descriptors();
  server.forgetPeak();
  monitor.take();
  const begin = performance.now();
  const watch = setInterval(() => {
    if (server.memory().resident > KILL_MIB) server.kill();
  }, 20);
  const { httpPort, grpcPort, metricsPort } = server;
  const workerData: AttackPlan = { name: attack.name, httpPort, grpcPort, metricsPort, seconds };
  const worker = new Worker(new URL('./attacker.js', import.meta.url), { workerData });
  const [report] = (await once(worker, 'message')) as [AttackReport];
  await worker.terminate();
  // What the server has still to do of it belongs to the attack.
  const left = await settled(server, descriptors);
  clearInterval(watch);
  const { peak, resident } = server.memory();
  const seen = monitor.take();
  const faults: string[] = [];
  if (report.fault !== undefined) faults.push(`the attack itself failed: ${report.fault}`);
  if (report.sent === 0) faults.push('nothing was sent');
  if (server.ended !== undefined)
    faults.push(`the server ended (${server.ended.status ?? server.ended.signal}): ${lastLines(server.output)}`);
  if (seen.slowestMs > bounds.healthMs) faults.push(`a health check took ${seen.slowestMs.toFixed(0)} ms`);
  if (peak > bounds.residentMiB) faults.push(`${peak.toFixed(0)} MiB resident`);
  if (seen.right === 0 && seen.refused === 0) faults.push('the innocent client was not served');
  faults.push(...left, ...new Set(seen.wrong));
  const { slowestMs, machineMs, right, refused } = seen;
  const took = (performance.now() - begin) / 1000;
  return {
    name: attack.name,
    seconds: took,
    sent: report.sent,
    slowestMs,
    machineMs,
    peakMiB: peak,
    afterMiB: resident,
    right,
    refused,
    faults,
  };
}

/** Waits until the server holds nothing of the attack any more; returns what it still does after a time. */
async function settled(server: ServerUnderAttack, descriptors: number): Promise<string[]> {
  const end = performance.now() + SETTLE_MS;
  for (;;) {
    await delay(300);
    if (server.ended !== undefined) return [];
    const left: string[] = [];
    const more = server.descriptors() - descriptors;
    if (more > MORE_DESCRIPTORS) left.push(`${more} descriptors more than before`);
    const pending = await pendingRequests(server.metricsPort);
    if (pending !== 0) left.push(`${pending} requests pending`);
    if (left.length === 0 || performance.now() > end) return left.map((text) => `${text} after ${SETTLE_MS / 1000} s`);
  }
}

/** Requests that wait in the queues of all models. */
async function pendingRequests(port: number): Promise<number> {
  try {
    const { text } = await httpRequest(port, 'GET', '/metrics');
    const counts = [...text.matchAll(/^nv_inference_pending_request_count\{[^}]*\} (\S+)$/gm)];
    // The innocent client's own may be among them.
    const count = counts.reduce((sum, [, value]) => sum + Number(value), 0);
    return count <= 2 ? 0 : count;
  } catch {
    return -1; // no response: the health checks say so too
  }
}

function lastLines(output: string): string {
  return output.trimEnd().split('\n').slice(-12).join(' | ').slice(-1200);
}
