import { cpSync } from 'node:fs';
import path from 'node:path';
import { runLoad } from '../load/run-load.js';
import { median } from '../measure.js';
import { ROOT, startTriton } from '../server-process.js';
import type { BenchContext, Row } from './context.js';
import { simplePlans } from './simple.js';

const REQUESTS = 10_000;

/** From the start of the process to READY with `simple`, and resident memory idle and after 10,000 requests. */
export async function startupAndMemoryRows(context: BenchContext): Promise<Row[]> {
  const repository = path.join(context.folder, 'simple-only');
  cpSync(path.join(ROOT, 'fixtures/models/simple'), path.join(repository, 'simple'), { recursive: true });
  const times: number[] = [];
  for (let i = 0; i < context.rounds; i++) {
    const server = await startTriton(repository);
    times.push(server.startMs);
    await server.stop();
  }
  const server = await startTriton(repository);
  try {
    const idle = server.residentMiB();
    const plan = { ...simplePlans(context, 16).http, port: server.httpPort, requests: REQUESTS, seconds: 600 };
    await runLoad(plan);
    return [
      {
        what: 'start to READY with simple',
        ours: `${median(times).toFixed(0)} ms`,
        reference: '',
        ratio: '',
        target: '< 1000 ms',
      },
      {
        what: `resident memory idle / after ${REQUESTS} requests`,
        ours: `${idle.toFixed(0)} / ${server.residentMiB().toFixed(0)} MiB`,
        reference: '',
        ratio: '',
        target: '',
      },
    ];
  } finally {
    await server.stop();
  }
}
