import { setTimeout as delay } from 'node:timers/promises';
import { TritonError } from '../../base/error.js';
import type { Admission } from '../context/admission.js';
import type { ServedEngine } from '../context/served-engine.js';
import type { Endpoint } from '../listen/endpoint.js';
import type { ServerLog } from '../log/server-log.js';

/** What is left to the engine of the exit timeout, in ms; a third of it where that is less. */
const ENGINE_SHARE_MS = 5000;

const EXPIRED = 'Exit timeout expired. Exiting immediately.';

/** Milliseconds between looks at what is still open. */
const LOOK_MS = 10;

/** The endpoints of a server that stops. */
export interface StoppingEndpoints {
  readonly http: Endpoint | undefined;
  readonly grpc: Endpoint | undefined;
  readonly metrics: Endpoint | undefined;
  /** Which inference requests gRPC clients may still send. */
  readonly admission: Admission;
  /** Open inference streams take no more requests and end when theirs are complete. */
  endStreams(): void;
}

/** The time that a stop may take, counted down for all its phases together. */
export class CountDown {
  readonly #end: number;
  /** What is left to the engine of it to end its models, in ms, whatever connections do. */
  readonly engineShareMs: number;

  constructor(seconds: number) {
    this.#end = performance.now() + seconds * 1000;
    this.engineShareMs = Math.min(ENGINE_SHARE_MS, (seconds * 1000) / 3);
  }

  get leftMs(): number {
    return Math.max(0, this.#end - performance.now());
  }

  /** Whole seconds, as the log shows them. */
  get seconds(): number {
    return Math.ceil(this.leftMs / 1000);
  }

  /** Calls `report` now and each second until `done`; resolves to false when no more than the engine's share is left before. */
  async until(done: () => boolean, report: () => void): Promise<boolean> {
    for (;;) {
      if (done()) return true;
      report();
      const leftMs = this.leftMs - this.engineShareMs;
      if (leftMs <= 0) return false;
      const second = performance.now() + Math.min(1000, leftMs);
      while (performance.now() < second && !done()) await delay(LOOK_MS);
    }
  }
}

/**
 * Lets sequences that have begun end: the server is not ready any more and accepts no HTTP connections, but requests of these
 * sequences on connections that are open are served on, for as long as the stop may take. gRPC clients may connect, to be
 * told that the server stops.
 */
export async function finishSequences(
  endpoints: StoppingEndpoints,
  engine: ServedEngine,
  log: ServerLog,
  countDown: CountDown,
): Promise<void> {
  engine.leave();
  endpoints.admission.stop();
  if (engine.liveSequences === 0) return;
  endpoints.http?.close();
  const clients = [endpoints.http, endpoints.grpc].filter((endpoint) => endpoint !== undefined);
  const done = (): boolean =>
    engine.liveSequences === 0 || clients.every(({ connectionCount }) => connectionCount === 0);
  await countDown.until(done, () => reportConnections(endpoints, log, countDown));
}

/**
 * Ends the endpoints: no new connections, responses to everything accepted, then what is left is cut. gRPC ends when clients
 * wait for no more responses of models: until then it responds to new requests that the server stops. Resolves to false
 * when what was cut had requests to which the engine had not responded.
 */
export async function stopEndpoints(
  endpoints: StoppingEndpoints,
  engine: ServedEngine,
  log: ServerLog,
  countDown: CountDown,
): Promise<boolean> {
  const { http, grpc, metrics } = endpoints;
  const all = [grpc, http, metrics].filter((endpoint) => endpoint !== undefined);
  endpoints.endStreams();
  const others = [http, metrics].map((endpoint) => endpoint?.stop());
  const awaited = (): boolean => engine.inFlight > 0 && (grpc?.inFlight ?? 0) + (http?.inFlight ?? 0) > 0;
  if (grpc !== undefined)
    await countDown.until(
      () => !awaited(),
      () => reportConnections(endpoints, log, countDown),
    );
  const stopped = Promise.all([grpc?.stop(), ...others]);
  const done = (): boolean => all.every((endpoint) => endpoint.connectionCount === 0);
  let answered = true;
  if (!(await countDown.until(done, () => reportConnections(endpoints, log, countDown)))) {
    answered = engine.inFlight === 0;
    if (!answered) log.error(`failed to stop server: Internal - ${EXPIRED}`);
    for (const endpoint of all) endpoint.destroy();
  }
  await stopped;
  return answered;
}

function reportConnections({ http, grpc }: StoppingEndpoints, log: ServerLog, { seconds }: CountDown): void {
  const [httpCount, grpcCount] = [http?.connectionCount ?? 0, grpc?.connectionCount ?? 0];
  if (httpCount > 0) log.info(`Timeout ${seconds}: Found ${httpCount} HTTP service connections`);
  if (grpcCount > 0) {
    log.info(`Timeout ${seconds}: Found ${grpcCount} gRPC service connections and inference handlers`);
  }
}

/** Ends the engine; false when something was still in flight at the end of the time. */
export async function stopEngine(engine: ServedEngine, log: ServerLog, countDown: CountDown): Promise<boolean> {
  try {
    await engine.stop(countDown.leftMs);
    return true;
  } catch (reason) {
    const error = TritonError.from(reason);
    log.error(`failed to stop server: ${error.codeText} - ${error.message}`);
    return false;
  }
}
