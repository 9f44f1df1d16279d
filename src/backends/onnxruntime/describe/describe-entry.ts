/**
 * Entry of a process that opens models only to say what the runtime knows of them. A model that makes the runtime hang or
 * end the process does so here, where it can be killed. The process ends with the one that started it, even while the
 * runtime is at work: another thread watches that.
 */
import { Worker } from 'node:worker_threads';
import { TritonError } from '../../../base/error.js';
import { OpenSession } from '../session/open-session.js';
import { loadOrtBinding } from '../session/ort-binding.js';
import type { DescribeReply, DescribeRequest } from './describe-process.js';

const WATCH = `
  const parent = process.ppid;
  setInterval(() => { if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL'); }, 500);
`;

function describe({ open }: DescribeRequest): DescribeReply {
  try {
    loadOrtBinding();
  } catch (reason) {
    return { kind: 'missing', message: (reason as Error).message };
  }
  try {
    const session = new OpenSession(open);
    session.dispose();
    return { kind: 'described', info: session.info };
  } catch (reason) {
    const { code, message } = TritonError.from(reason);
    return { kind: 'refused', code, message };
  }
}

new Worker(WATCH, { eval: true }).unref();
process.on('disconnect', () => process.exit());
process.on('message', (request: DescribeRequest) => process.send?.(describe(request)));
