import { setTimeout as delay } from 'node:timers/promises';
import type { Endpoint } from './endpoint.js';
import type { ServerLog } from './log/server-log.js';
import type { ServedEngine } from './served-engine.js';

/** Milliseconds between looks at what is still in flight. */
const POLL_MS = 10;

/** The endpoints of a server that stops. */
export interface StoppingEndpoints {
  readonly http: Endpoint | undefined;
  readonly grpc: Endpoint | undefined;
  readonly metrics: Endpoint | undefined;
  endStreams(): void;
}

/** Whole seconds that are left, counted down for all phases of a stop together. */
export class CountDown {
  readonly #end: number;
  readonly #whole: number;

  constructor(seconds: number) {
    this.#whole = seconds;
    this.#end = performance.now() + seconds * 1000;
  }

  /** Seconds as the log shows them. */
  get seconds(): number {
    return Math.min(this.#whole, Math.max(0, Math.ceil((this.#end - performance.now()) / 1000)));
  }

  get expired(): boolean {
    return performance.now() >= this.#end;
  }

  /**
   * Calls `report` now, each second, and once more at the end; resolves to true when `done` is, to false when the time
   * is over before.
   */
  async until(done: () => boolean, report: () => void): Promise<boolean> {
    for (;;) {
      report();
      if (done()) return true;
      if (this.expired) return false;
      const second = Math.min(performance.now() + 1000, this.#end);
      while (performance.now() < second && !done()) await delay(POLL_MS);
    }
  }
}

/** Ends the endpoints: no new connections, answers to everything accepted, then whatever is left is cut. */
export async function stopEndpoints(endpoints: StoppingEndpoints, log: ServerLog, countDown: CountDown): Promise<void> {
  const all = [endpoints.grpc, endpoints.http, endpoints.metrics].filter((endpoint) => endpoint !== undefined);
  endpoints.endStreams();
  const stopped = Promise.all(all.map((endpoint) => endpoint.stop()));
  const report = (): void => {
    const { http, grpc } = endpoints;
    const what: [number, string][] = [
      [http?.connectionCount ?? 0, 'HTTP service connections'],
      [grpc?.connectionCount ?? 0, 'gRPC service connections and inference handlers'],
    ];
    for (const [count, name] of what) {
      if (count > 0) log.info(`Timeout ${countDown.seconds}: Found ${count} ${name}`);
    }
  };
  const done = (): boolean => all.every((endpoint) => endpoint.connectionCount === 0);
  if (!(await countDown.until(done, report))) for (const endpoint of all) endpoint.destroy();
  await stopped;
}

/** Ends the engine with the original's lines; false when requests were still in flight at the end of the time. */
export async function stopEngine(engine: ServedEngine, log: ServerLog, countDown: CountDown): Promise<boolean> {
  engine.beginStop();
  log.info('Waiting for in-flight requests to complete.');
  const answered = await countDown.until(
    () => engine.inFlight().length === 0,
    () => {
      const models = engine.inFlight();
      log.info(`Timeout ${countDown.seconds}: Found ${models.length} model versions that have in-flight inferences`);
      for (const { name, version, count } of models) {
        log.info(`Model '${name}' (version ${version}) has ${count} in-flight inferences`);
      }
    },
  );
  if (!answered) return expire(engine, log);
  log.info('All models are stopped, unloading models');
  let unloaded = false;
  const report = (): void => {
    const live = unloaded ? 0 : engine.liveModelCount();
    log.info(`Timeout ${countDown.seconds}: Found ${live} live models and 0 in-flight non-inference requests`);
    unloading ??= engine.unloadAll().then(() => {
      unloaded = true;
    });
  };
  let unloading: Promise<void> | undefined;
  const done = (): boolean => unloaded || (unloading === undefined && engine.liveModelCount() === 0);
  if (!(await countDown.until(done, report))) return expire(engine, log);
  await unloading;
  return true;
}

async function expire(engine: ServedEngine, log: ServerLog): Promise<boolean> {
  log.error('failed to stop server: Internal - Exit timeout expired. Exiting immediately.');
  await engine.stop(0);
  return false;
}
