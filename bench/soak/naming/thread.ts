/** The thread of the clients whose responses name their request: keeps every lane's requests in flight until the end. */
import { closeSync, ftruncateSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { type Connection, Counts } from './ask.js';
import { GrpcConnection } from './grpc-connection.js';
import { HttpConnection } from './http-connection.js';
import { KINDS, type Maker, SLOT_BYTES, sharedMemoryLane, type Transport } from './kinds.js';

/** What the thread gets. */
export interface NamingPlan {
  readonly httpPort: number;
  readonly grpcPort: number;
  readonly seconds: number;
  /** Ends earlier with that many responses; 0: only with the time. */
  readonly responses: number;
  readonly python: boolean;
  /** Share of the lanes that is used: 1 is all of them. */
  readonly share: number;
}

/** What it reports. */
export interface NamingReport {
  readonly connections: number;
  readonly responses: number;
  readonly seconds: number;
  readonly byKind: Counts['byKind'];
  readonly faults: readonly string[];
}

const plan = workerData as NamingPlan;
const counts = new Counts();
const begin = performance.now();
const SHARED_MEMORY_LANES = 20;
/** After that many requests a lane gives its connection up and opens another. */
const REQUESTS_PER_CONNECTION = 500;
/** How long the last responses may take. */
const PATIENCE_MS = 60_000;
let nextToken = 1;
let connections = 0;
const goesOn = (): boolean =>
  performance.now() - begin < plan.seconds * 1000 && (plan.responses === 0 || counts.responses < plan.responses);

/** One client: connection after connection until the run is over. */
async function runLane(transport: Transport, depth: number, maker: Maker): Promise<void> {
  while (goesOn() || maker.midway()) {
    connections++;
    if (!(await runConnection(transport, depth, maker))) return;
  }
}

/** False when the connection broke: then the lane ends, what is wrong has been counted. */
async function runConnection(transport: Transport, depth: number, maker: Maker): Promise<boolean> {
  let left = REQUESTS_PER_CONNECTION + Math.floor(Math.random() * 100);
  let inFlight = 0;
  let over: () => void = () => {};
  const ended = new Promise<void>((resolve) => {
    over = resolve;
  });
  let reason: string | undefined;
  const fill = (): void => {
    while (inFlight < depth && left > 0 && (goesOn() || maker.midway()) && reason === undefined) {
      left--;
      inFlight++;
      const ask = maker.make(nextToken++, transport === 'json');
      counts.sent(ask);
      connection.send(ask);
    }
    if (inFlight === 0) over();
  };
  const events = {
    done: (): void => {
      inFlight--;
      // Not from within the reading of a response: the stack would grow with what one read holds.
      queueMicrotask(fill);
    },
    broken: (why: string): void => {
      reason ??= why;
      over();
    },
  };
  const connection: Connection =
    transport === 'grpc' || transport === 'stream'
      ? await GrpcConnection.open(plan.grpcPort, counts, events, transport === 'stream')
      : await HttpConnection.open(plan.httpPort, counts, events);
  fill();
  const patience = new AbortController();
  await Promise.race([ended, untilLate(patience.signal)]);
  patience.abort();
  for (const ask of connection.waiting) {
    if (reason === undefined) counts.lost(ask);
    else counts.failed(ask, `${transport}: ${reason}`);
  }
  connection.close();
  return reason === undefined;
}

/** Resolves when the run is over and the last responses should have come. */
async function untilLate(signal: AbortSignal): Promise<void> {
  let late = 0;
  while (!signal.aborted && late < PATIENCE_MS) {
    await delay(500, undefined, { signal }).catch(() => {});
    if (!goesOn()) late += 500;
  }
}

/** A region of shared memory with a slot for each lane. */
async function openRegion(): Promise<{ readonly lanes: Maker[]; close(): void }> {
  const name = `/triton-soak-${process.pid}`;
  const byteSize = 2 * SLOT_BYTES * SHARED_MEMORY_LANES;
  const file = openSync(`/dev/shm${name}`, 'w+', 0o600);
  ftruncateSync(file, byteSize);
  const response = await fetch(`http://127.0.0.1:${plan.httpPort}/v2/systemsharedmemory/region/soak/register`, {
    method: 'POST',
    body: JSON.stringify({ key: name, offset: 0, byte_size: byteSize }),
  });
  if (response.status !== 200) throw new Error(`the region cannot be registered: ${await response.text()}`);
  const lanes = Array.from({ length: SHARED_MEMORY_LANES }, (_, i) => {
    const [inputAt, outputAt] = [2 * i * SLOT_BYTES, (2 * i + 1) * SLOT_BYTES];
    return sharedMemoryLane({
      region: 'soak',
      inputAt,
      outputAt,
      write: (bytes) => writeSync(file, bytes, 0, bytes.length, inputAt),
      read(length) {
        const bytes = new Uint8Array(length);
        readSync(file, bytes, 0, length, outputAt);
        return bytes;
      },
    });
  });
  return {
    lanes,
    close() {
      closeSync(file);
      unlinkSync(`/dev/shm${name}`);
    },
  };
}

const region = await openRegion();
const running: Promise<void>[] = region.lanes.map((maker, i) => runLane(i % 2 === 0 ? 'binary' : 'grpc', 1, maker));
for (const kind of KINDS) {
  if (kind.needsPython && !plan.python) continue;
  for (const [transport, count] of Object.entries(kind.lanes) as [Transport, number][]) {
    const depth = transport === 'json' || transport === 'binary' ? 1 : (kind.depth ?? 4);
    const lanes = Math.max(1, Math.round(count * plan.share));
    for (let i = 0; i < lanes; i++) running.push(runLane(transport, depth, kind.lane()));
  }
}
const results = await Promise.allSettled(running);
region.close();
const faults = [
  ...counts.faults,
  ...results.flatMap((result) => (result.status === 'rejected' ? [String((result.reason as Error).stack)] : [])),
];
const report: NamingReport = {
  connections,
  responses: counts.responses,
  seconds: (performance.now() - begin) / 1000,
  byKind: counts.byKind,
  faults,
};
parentPort?.postMessage(report);
