/**
 * The load generator of the benchmarks, a process of its own: keeps `concurrency` prepared requests in flight for a
 * while and prints counts and latencies as one line of JSON. Started by run-load.ts. Like perf_analyzer it shares the
 * requests among up to 4 threads, so that they reach the server one by one and not in bursts of one event loop.
 */
import { readFileSync } from 'node:fs';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { GrpcLane } from './grpc-lane.js';
import { HttpLane, httpRequest } from './http-lane.js';
import type { LoadPlan, LoadResult } from './plan.js';

/** The C++ client shares one gRPC channel between up to 6 clients; so does this generator. */
const CALLS_PER_CHANNEL = 6;

const MAX_THREADS = 4;

/** One thread stops after that many, should a run be that long. */
const MOST_REQUESTS = 2_000_000;

/** What one thread measured: latencies in us. */
interface Share {
  readonly seconds: number;
  readonly latencies: Float64Array;
}

if (isMainThread) {
  process.stdout.write(`${JSON.stringify(await share(JSON.parse(process.argv[2] as string) as LoadPlan))}\n`);
  process.exit(0);
} else {
  const { plan, gate, threads } = workerData as ThreadPlan;
  parentPort?.postMessage(await run(plan, () => passTogether(gate, threads)));
}

/** What one thread gets. */
interface ThreadPlan {
  readonly plan: LoadPlan;
  /** Counts the threads that are connected. */
  readonly gate: Int32Array;
  readonly threads: number;
}

/** Waits until all threads are here: none sends while another is still starting up. */
function passTogether(gate: Int32Array, threads: number): void {
  Atomics.add(gate, 0, 1);
  Atomics.notify(gate, 0);
  for (let seen = Atomics.load(gate, 0); seen < threads; seen = Atomics.load(gate, 0)) Atomics.wait(gate, 0, seen);
}

/** Splits the plan among threads and puts their measurements together. */
async function share(plan: LoadPlan): Promise<LoadResult> {
  const threads = Math.min(MAX_THREADS, plan.concurrency);
  const gate = new Int32Array(new SharedArrayBuffer(4));
  const shares = await Promise.all(
    Array.from({ length: threads }, (_, i) => {
      const part = (total: number): number => Math.floor(total / threads) + (i < total % threads ? 1 : 0);
      const requests = plan.requests === undefined ? {} : { requests: part(plan.requests) };
      const own: LoadPlan = { ...plan, ...requests, concurrency: part(plan.concurrency) };
      const workerData: ThreadPlan = { plan: own, gate, threads };
      const worker = new Worker(new URL(import.meta.url), { workerData });
      return new Promise<Share>((resolve, reject) => {
        worker.once('message', resolve).once('error', reject);
      });
    }),
  );
  const count = shares.reduce((sum, { latencies }) => sum + latencies.length, 0);
  const all = new Float64Array(count);
  let at = 0;
  for (const { latencies } of shares) {
    all.set(latencies, at);
    at += latencies.length;
  }
  all.sort();
  const quantile = (share: number): number => all[Math.min(count - 1, Math.floor(count * share))] ?? 0;
  return { count, seconds: Math.max(...shares.map((s) => s.seconds)), p50Us: quantile(0.5), p99Us: quantile(0.99) };
}

/** Runs one thread's share; `whenConnected` returns when the load may begin. */
async function run(plan: LoadPlan, whenConnected: () => void): Promise<Share> {
  const { protocol, port, path, headers, bodyFile, concurrency, seconds, requests } = plan;
  const body = readFileSync(bodyFile);
  const latencies = new Float64Array(requests ?? MOST_REQUESTS);
  let count = 0;
  let stopped = false;
  let finish = (): void => {};
  const lanes: (HttpLane | GrpcLane)[] = [];
  /** Start times in order of sending; each lane answers in the order of its calls for HTTP, nearly so for gRPC. */
  const starts: number[][] = [];

  const laneCount = protocol === 'http' ? concurrency : Math.ceil(concurrency / CALLS_PER_CHANNEL);
  for (let i = 0; i < laneCount; i++) {
    const started: number[] = [];
    starts.push(started);
    const onAnswer = (): void => {
      const now = performance.now();
      if (stopped) return;
      latencies[count++] = now - (started.shift() as number);
      if (count >= latencies.length) finish();
      else {
        started.push(now);
        lane.send();
      }
    };
    const lane: HttpLane | GrpcLane =
      protocol === 'http'
        ? new HttpLane(httpRequest(path, headers, body), onAnswer)
        : new GrpcLane(path, body, onAnswer);
    lanes.push(lane);
  }
  await Promise.all(lanes.map((lane) => lane.open(port)));
  whenConnected();

  const begin = performance.now();
  const done = new Promise<void>((resolve) => {
    finish = () => {
      stopped = true;
      resolve();
    };
  });
  for (let i = 0; i < concurrency; i++) {
    (starts[i % laneCount] as number[]).push(performance.now());
    (lanes[i % laneCount] as HttpLane).send();
  }
  const timer = setTimeout(finish, seconds * 1000);
  await done;
  clearTimeout(timer);
  const elapsed = (performance.now() - begin) / 1000;
  for (const lane of lanes) lane.close();
  return { seconds: elapsed, latencies: latencies.slice(0, count).map((ms) => ms * 1000) };
}
