import { Engine } from '../engine/engine.js';
import { TritonError } from '../protocol/error.js';
import type { ServerLog } from './log/server-log.js';
import type { ServerOptions } from './options/server-options.js';
import { type ServedEngine, UnavailableEngine } from './served-engine.js';

/** Starts the engine that the options describe, or what stands for one that could not be made. */
export async function startEngine(options: ServerOptions, log: ServerLog): Promise<ServedEngine> {
  const refusal = directoryRefusal(options) ?? cacheRefusal(options);
  if (refusal !== undefined) {
    return new UnavailableEngine(refusal, async () => log.info('No server context available. Exiting immediately.'));
  }
  const engine = await Engine.start({
    repositories: options.repositories,
    backendConfig: options.backendConfig,
    backendDirectory: options.backendDirectory,
    autoComplete: options.autoComplete,
    modelControlMode: options.modelControlMode,
    loadModels: options.loadModels,
    strictReadiness: options.strictReadiness,
    modelConfigName: options.modelConfigName,
    repoAgentDirectory: options.repoagentDirectory,
    modelLoadThreads: options.modelLoadThreadCount,
    modelLoadRetries: options.modelLoadRetryCount,
    ...(options.rateLimit ? { rateLimit: { resources: options.rateLimitResources } } : {}),
    log,
  });
  if (engine.hasRepository || engine.startError === undefined) return engine;
  return new UnavailableEngine(engine.startError, (graceMs) => engine.stop(graceMs));
}

function directoryRefusal({ repositories, repoagentDirectory }: ServerOptions): TritonError | undefined {
  if (repositories.length === 0 || repoagentDirectory !== '') return undefined;
  return new TritonError('INVALID_ARG', '--repoagent-directory can not be empty');
}

/** There is no response cache: every way to ask for one ends the start. */
function cacheRefusal({ cacheConfig, cacheDirectory }: ServerOptions): TritonError | undefined {
  const caches = new Set(cacheConfig.map(({ cache }) => cache));
  if (caches.size > 1) {
    return new TritonError(
      'INVALID_ARG',
      'found multiple cache configurations, but only a single cache is currently supported',
    );
  }
  const [cache] = caches;
  if (cache === undefined) return undefined;
  if (cache === 'local') {
    return new TritonError('UNSUPPORTED', 'this server has no response cache: leave --cache-config=local,... out');
  }
  return new TritonError(
    'INVALID_ARG',
    `unable to find 'libtritoncache_${cache}.so' for cache. Searched: ${cacheDirectory}`,
  );
}
