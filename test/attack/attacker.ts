/** The thread that attacks, so that its work does not hold up the thread that measures. */
import { parentPort, workerData } from 'node:worker_threads';
import { TimedTarget } from './attack.js';
import { ATTACKS } from './attacks.js';

/** What the thread gets. */
export interface AttackPlan {
  readonly name: string;
  readonly httpPort: number;
  readonly grpcPort: number;
  readonly metricsPort: number;
  readonly seconds: number;
}

/** What it reports at the end: how much was sent, or what is wrong with the attack itself. */
export interface AttackReport {
  readonly sent: number;
  readonly fault?: string;
}

const plan = workerData as AttackPlan;
const attack = ATTACKS.find(({ name }) => name === plan.name);
if (attack === undefined) throw new Error(`there is no attack '${plan.name}'`);
const target = new TimedTarget(plan.httpPort, plan.grpcPort, plan.metricsPort, plan.seconds);
let report: AttackReport;
try {
  await attack.run(target);
  report = { sent: target.count };
} catch (reason) {
  report = { sent: target.count, fault: (reason as Error).stack ?? String(reason) };
}
target.close();
parentPort?.postMessage(report);
