/**
 * The load generator of the benchmarks, a process of its own: keeps `concurrency` prepared requests in flight for a
 * while and prints counts and latencies as one line of JSON. Started by run-load.ts.
 */
import { readFileSync } from 'node:fs';
import { GrpcLane } from './grpc-lane.js';
import { HttpLane, httpRequest } from './http-lane.js';
import type { LoadPlan, LoadResult } from './plan.js';

/** The C++ client shares one gRPC channel between up to 6 clients; so does this generator. */
const CALLS_PER_CHANNEL = 6;

const plan = JSON.parse(process.argv[2] as string) as LoadPlan;
process.stdout.write(`${JSON.stringify(await run(plan))}\n`);
process.exit(0);

async function run({
  protocol,
  port,
  path,
  headers,
  bodyFile,
  concurrency,
  seconds,
  requests,
}: LoadPlan): Promise<LoadResult> {
  const body = readFileSync(bodyFile);
  const latencies = new Float64Array(requests ?? 4_000_000);
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
  const sorted = latencies.subarray(0, count).sort();
  const at = (share: number): number => (sorted[Math.min(count - 1, Math.floor(count * share))] ?? 0) * 1000;
  return { count, seconds: elapsed, p50Us: at(0.5), p99Us: at(0.99) };
}
