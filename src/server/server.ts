import { TritonError } from '../base/error.js';
import { RequestMemory } from '../engine/request/request-memory.js';
import { isEmptyRepository, repositoryHint } from '../repository/files/repository-help.js';
import { ByteBudget } from '../transport/byte-budget.js';
import { Admission } from './context/admission.js';
import { LogSettingsStore } from './context/log-settings.js';
import type { ServedEngine } from './context/served-engine.js';
import type { DecodeOptions, ServerContext } from './context/server-context.js';
import { serverMetadata } from './context/server-metadata.js';
import { serveGrpcEndpoint } from './grpc/serve-grpc.js';
import { serveHttp } from './http/serve-http.js';
import type { Endpoint } from './listen/endpoint.js';
import { ServerLog } from './log/server-log.js';
import { serveMetrics } from './metrics/serve-metrics.js';
import { ServerMetrics } from './metrics/server-metrics.js';
import { GRPC_MAX_MESSAGE_BYTES } from './options/grpc-options.js';
import type { ServerOptions } from './options/server-options.js';
import { ServerSharedMemory } from './shared-memory/regions.js';
import { startEngine } from './start/start-engine.js';
import { logEngineTables, logOptionNotes, logOptionTable } from './start/startup-tables.js';
import { CountDown, finishSequences, type StoppingEndpoints, stopEndpoints, stopEngine } from './stop/shutdown.js';
import type { StopRequest } from './stop/stop-request.js';
import { Tracer } from './trace/tracer.js';

/** A server that listens. */
export interface RunningServer {
  /** Ports that are listened on; undefined for an endpoint that is switched off. */
  readonly ports: Readonly<Record<'http' | 'grpc' | 'metrics', number | undefined>>;
  readonly engine: ServedEngine;
  readonly log: ServerLog;
  /**
   * Stops in good order: accepts no more, responds to everything accepted, unloads. Resolves to false when the exit timeout
   * ran out before that. Further calls wait for the same stop.
   */
  stop(): Promise<boolean>;
}

/** Why a server did not start. `message` is what goes to stderr after the log, '' when the log says it all. */
export class ServerStartError extends TritonError {
  override readonly name = 'ServerStartError';

  constructor(message: string, options?: { cause: unknown }) {
    super('INTERNAL', message, options);
  }
}

/** The start ended because a stop was asked for meanwhile; nothing of it is left. */
export class ServerStopped extends TritonError {
  override readonly name = 'ServerStopped';

  constructor() {
    super('CANCELLED', 'the server was asked to stop before it was ready');
  }
}

/**
 * Loads the models, logs the tables, starts the endpoints. Rejects with a ServerStartError, or with ServerStopped when
 * `request` asks for a stop while models are being loaded.
 */
export async function startServer(
  options: ServerOptions,
  log: ServerLog = new ServerLog({ ...options.log }),
  request?: StopRequest,
): Promise<RunningServer> {
  const metadata = serverMetadata(options);
  const budgets = {
    requests: new ByteBudget(options.limits.requestMemory || Number.POSITIVE_INFINITY),
    responses: new ByteBudget(options.limits.responseMemory || Number.POSITIVE_INFINITY),
  };
  const requestMemory = new RequestMemory(budgets.requests);
  const engine = await startEngine(options, log, requestMemory, request?.signal);
  if (request?.countDown !== undefined) {
    await stopEngine(engine, log, request.countDown);
    log.close();
    throw new ServerStopped();
  }
  const created = engine.hasRepository;
  if (created) logEngineTables(log, engine);
  if (options.metrics.enabled && options.metrics.cpu) log.info('Collecting CPU metrics');
  logOptionTable(log, options, metadata);
  if (engine.startError !== undefined) await handleStartError(engine, options, log, request);
  if (created) logEmptyRepositories(options, log);
  logOptionNotes(options, log);

  const sharedMemory = new ServerSharedMemory(
    options.limits.allowClientSharedMemory,
    process.platform,
    options.limits.sharedMemoryRegions,
  );
  const context: ServerContext = {
    engine,
    options,
    metadata,
    log,
    logSettings: new LogSettingsStore(log),
    tracer: new Tracer(options.trace, log),
    sharedMemory,
    admission: new Admission(),
    budgets,
    decoding: {
      http: decodeOptions(options.http.maxInputSize, sharedMemory, options),
      grpc: decodeOptions(GRPC_MAX_MESSAGE_BYTES, sharedMemory, options),
    },
  };
  const metrics = options.metrics.enabled
    ? new ServerMetrics(engine, options.metrics, options.devices.pinnedMemoryPoolBytes, () => ({
        logRecords: log.dropped,
        requests: budgets.requests.refused,
      }))
    : undefined;
  const endpoints = await startEndpoints(context, engine, metrics);
  engine.beginPolling();
  let stopping: Promise<boolean> | undefined;
  return {
    ports: { http: endpoints.http?.port, grpc: endpoints.grpc?.port, metrics: endpoints.metrics?.port },
    engine,
    log,
    stop() {
      const countDown = request?.countDown ?? new CountDown(options.general.exitTimeoutSeconds);
      stopping ??= stopServer(endpoints, { engine, metrics }, context, countDown);
      return stopping;
    },
  };
}

function decodeOptions(
  maxInputSize: number,
  sharedMemory: ServerSharedMemory,
  { limits: { allowClientSharedMemory } }: ServerOptions,
): DecodeOptions {
  return allowClientSharedMemory ? { maxInputSize, sharedMemory } : { maxInputSize };
}

async function stopServer(
  endpoints: StoppingEndpoints,
  { engine, metrics }: { readonly engine: ServedEngine; readonly metrics: ServerMetrics | undefined },
  { sharedMemory, tracer, log }: ServerContext,
  countDown: CountDown,
): Promise<boolean> {
  await finishSequences(endpoints, engine, log, countDown);
  const answered = await stopEndpoints(endpoints, engine, log, countDown);
  metrics?.stop();
  const clean = (await stopEngine(engine, log, countDown)) && answered;
  sharedMemory.close();
  await tracer.close();
  log.close();
  return clean;
}

/** Ends a start that failed, unless --exit-on-error=false lets the server go on. */
async function handleStartError(
  engine: ServedEngine,
  options: ServerOptions,
  log: ServerLog,
  request: StopRequest | undefined,
): Promise<void> {
  const error = engine.startError as TritonError;
  const hints = options.models.repositories
    .map((repository) => repositoryHint(repository))
    .filter((hint) => hint !== undefined);
  const hint = hints.length === 0 ? '' : `. ${hints.join(' ')}`;
  if (!options.models.exitOnError) {
    log.error(error.toStatusText());
    for (const text of hints) log.error(`Check --model-repository: ${text}`);
    return;
  }
  await stopEngine(engine, log, request?.countDown ?? new CountDown(options.general.exitTimeoutSeconds));
  log.close();
  throw new ServerStartError(`error: creating server: ${error.codeText} - ${error.message}${hint}`);
}

/** A server without models is seldom meant: says so, and why. */
function logEmptyRepositories(options: ServerOptions, log: ServerLog): void {
  for (const repository of options.models.repositories) {
    const hint = repositoryHint(repository);
    if (hint !== undefined) log.warning(`Check --model-repository: ${hint}`);
    else if (isEmptyRepository(repository)) {
      log.info(
        `No models: the model repository '${repository}' is empty. It should hold a directory for each model; ` +
          `'triton repo init' makes one with examples.`,
      );
    }
  }
}

/** gRPC, HTTP, metrics, in Triton's order. When one cannot start, what was started ends again. */
async function startEndpoints(
  context: ServerContext,
  engine: ServedEngine,
  metrics: ServerMetrics | undefined,
): Promise<StoppingEndpoints> {
  const { options, log } = context;
  const started: { http?: Endpoint; grpc?: Endpoint; metrics?: Endpoint; endStreams?: () => void } = {};
  let service = 'GRPC';
  try {
    if (options.grpc.enabled) {
      const { endpoint, endStreams } = await serveGrpcEndpoint(context);
      Object.assign(started, { grpc: endpoint, endStreams });
      log.info(`Started GRPCInferenceService at ${endpoint.address}:${endpoint.port}`);
    }
    service = 'HTTP';
    if (options.http.enabled) {
      started.http = await serveHttp(context);
      log.info(`Started HTTPService at ${started.http.address}:${started.http.port}`);
    }
    service = 'Metrics';
    if (metrics !== undefined) {
      started.metrics = await serveMetrics(context, metrics);
      log.info(`Started Metrics Service at ${started.metrics.address}:${started.metrics.port}`);
    }
  } catch (reason) {
    const error = TritonError.from(reason);
    log.error(`failed to start ${service} service: ${error.codeText} - ${error.message}`);
    const countDown = new CountDown(options.general.exitTimeoutSeconds);
    await stopEndpoints(complete(context, started), engine, log, countDown);
    metrics?.stop();
    await stopEngine(engine, log, countDown);
    log.close();
    throw new ServerStartError('', { cause: reason });
  }
  return complete(context, started);
}

function complete(
  { admission }: ServerContext,
  started: { http?: Endpoint; grpc?: Endpoint; metrics?: Endpoint; endStreams?: () => void },
): StoppingEndpoints {
  return {
    http: started.http,
    grpc: started.grpc,
    metrics: started.metrics,
    admission,
    endStreams: started.endStreams ?? (() => {}),
  };
}
