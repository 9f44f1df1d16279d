import { TritonError } from '../../base/error.js';
import { Engine } from '../../engine/engine.js';
import type { RequestMemory } from '../../engine/request/request-memory.js';
import type { LatencyOptions } from '../../engine/statistics/latencies.js';
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
  const { models, backends, devices } = options;
  const engine = await Engine.start(
    {
      repositories: models.repositories,
      backendConfig: backends.config,
      backendDirectory: backends.directory,
      autoComplete: models.autoComplete,
      modelControlMode: models.controlMode,
      loadModels: models.loadModels,
      strictReadiness: models.strictReadiness,
      modelConfigName: models.configName,
      modelNamespacing: models.namespacing,
      repositoryPollSeconds: models.pollSeconds,
      repoAgentDirectory: backends.repoagentDirectory,
      cacheConfig: backends.cacheConfig,
      cacheDirectory: backends.cacheDirectory,
      modelLoadThreads: models.loadThreadCount,
      modelLoadRetries: models.loadRetryCount,
      ...(devices.rateLimit ? { rateLimit: { resources: devices.rateLimitResources } } : {}),
      ...(options.metrics.enabled ? { latencies: latencyOptions(options) } : {}),
      modelCompletionSeconds: models.completionSeconds,
      modelUnloadSeconds: models.unloadSeconds,
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

function directoryRefusal({ models, backends }: ServerOptions): TritonError | undefined {
  if (models.repositories.length === 0 || backends.repoagentDirectory !== '') return undefined;
  return new TritonError('INVALID_ARG', '--repoagent-directory can not be empty');
}
