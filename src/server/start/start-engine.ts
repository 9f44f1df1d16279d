import { Engine } from '../../engine/engine.js';
import type { RequestMemory } from '../../engine/request/request-memory.js';
import type { LatencyOptions } from '../../engine/statistics/latencies.js';
import { TritonError } from '../../protocol/error.js';
import { type ServedEngine, UnavailableEngine } from '../context/served-engine.js';
import type { ServerLog } from '../log/server-log.js';
import type { ServerOptions } from '../options/server-options.js';

/**
 * Starts the engine that the options describe, or what stands for one that could not be made. When it is `cancelled` it
 * resolves soon, with whatever was loaded until then.
 */
export async function startEngine(
  options: ServerOptions,
  log: ServerLog,
  requestMemory: RequestMemory,
  cancelled?: AbortSignal,
): Promise<ServedEngine> {
  const refusal = directoryRefusal(options);
  if (refusal !== undefined) {
    return new UnavailableEngine(refusal, async () => log.info('No server context available. Exiting immediately.'));
  }
  const engine = await Engine.start(
    {
      repositories: options.repositories,
      backendConfig: options.backendConfig,
      backendDirectory: options.backendDirectory,
      autoComplete: options.autoComplete,
      modelControlMode: options.modelControlMode,
      loadModels: options.loadModels,
      strictReadiness: options.strictReadiness,
      modelConfigName: options.modelConfigName,
      modelNamespacing: options.modelNamespacing,
      repositoryPollSeconds: options.repositoryPollSeconds,
      repoAgentDirectory: options.repoagentDirectory,
      cacheConfig: options.cacheConfig,
      cacheDirectory: options.cacheDirectory,
      modelLoadThreads: options.modelLoadThreadCount,
      modelLoadRetries: options.modelLoadRetryCount,
      ...(options.rateLimit ? { rateLimit: { resources: options.rateLimitResources } } : {}),
      ...(options.metrics.enabled ? { latencies: latencyOptions(options) } : {}),
      modelCompletionSeconds: options.modelCompletionSeconds,
      modelUnloadSeconds: options.modelUnloadSeconds,
      requestMemory,
      log,
    },
    cancelled,
  );
  if (engine.hasRepository || engine.startError === undefined) return engine;
  return new UnavailableEngine(engine.startError, (graceMs) => engine.stop(graceMs));
}

function latencyOptions({ metrics }: ServerOptions): LatencyOptions {
  return {
    firstResponse: metrics.histogramLatencies,
    ...(metrics.summaryLatencies ? { summaryQuantiles: metrics.summaryQuantiles } : {}),
  };
}

function directoryRefusal({ repositories, repoagentDirectory }: ServerOptions): TritonError | undefined {
  if (repositories.length === 0 || repoagentDirectory !== '') return undefined;
  return new TritonError('INVALID_ARG', '--repoagent-directory can not be empty');
}
