import type { Log } from '../../base/log.js';
import type { BackendCatalogue } from '../../contract/backend-traits.js';
import type { AvailableResource } from '../../repository/load/rate-limits.js';
import type { CacheSetting } from '../cache/create-cache.js';
import type { RequestMemory } from '../request/request-memory.js';
import type { LatencyOptions } from '../statistics/latencies.js';

/** When models are loaded and unloaded. */
export type ModelControlMode = 'none' | 'explicit' | 'poll';

/** One `--backend-config=<backend>,<key>=<value>`. */
export interface BackendSetting {
  /** '' = for all backends. */
  readonly backend: string;
  readonly key: string;
  readonly value: string;
}

/** Everything that an engine has to know at its start; complete and checked. */
export interface EngineOptions {
  /** Paths of the repositories, as given. */
  readonly repositories: readonly string[];
  /** The backends that there are. Default: those of this program. */
  readonly catalogue?: BackendCatalogue;
  /** In the order of the command line: a later value of the same scope and key wins, a backend's own over a global one. */
  readonly backendConfig: readonly BackendSetting[];
  /** Shown in backend configurations and searched, as far as messages go. Default /opt/tritonserver/backends. */
  readonly backendDirectory?: string;
  /** False with --disable-auto-complete-config. */
  readonly autoComplete: boolean;
  readonly modelControlMode: ModelControlMode;
  /** Models to load at start in explicit mode; ['*'] = all. */
  readonly loadModels: readonly string[];
  /** True: every known version must be ready for the server to be ready. */
  readonly strictReadiness: boolean;
  /** --model-config-name; '' = config.pbtxt. */
  readonly modelConfigName?: string;
  /** --repoagent-directory */
  readonly repoAgentDirectory?: string;
  /** --cache-config: the response cache, in the order of the command line. Default: none. */
  readonly cacheConfig?: readonly CacheSetting[];
  /** --cache-directory: named in messages about caches. Default /opt/tritonserver/caches. */
  readonly cacheDirectory?: string;
  /** --model-namespacing: models of the same name in several repositories. Default false. */
  readonly modelNamespacing?: boolean;
  /** Mode poll: seconds between looks at the repositories; 0 = they are never looked at again. */
  readonly repositoryPollSeconds?: number;
  /** Loads at the same time. Default 4. */
  readonly modelLoadThreads?: number;
  /** Further attempts after a failed load. Default 0. */
  readonly modelLoadRetries?: number;
  /** Seconds that completing a configuration may take; 0 = any time. Default 120. */
  readonly modelCompletionSeconds?: number;
  /** An instance that should end is killed after this many seconds without a sign of life; 0 = never. Default 60. */
  readonly modelUnloadSeconds?: number;
  /** Cores to be divided over all instances of all models. Default: those that this process may use. */
  readonly threadBudget?: number;
  /** Set: executions compete for resources (--rate-limit=execution_count), of which there are these. Absent = off. */
  readonly rateLimit?: { readonly resources: readonly AvailableResource[] };
  /** Latencies that are kept beside the counters. Default: none. */
  readonly latencies?: LatencyOptions;
  /** What the requests of clients may have together. Default: no limit. */
  readonly requestMemory?: RequestMemory;
  readonly log: Log;
}

/** Unload timeout when the options do not say, in seconds. */
const DEFAULT_UNLOAD_SECONDS = 60;

/** The time in ms without a sign of life after which an instance that should end is killed; 0 = never. */
export function unloadTimeoutMs({ modelUnloadSeconds = DEFAULT_UNLOAD_SECONDS }: EngineOptions): number {
  return modelUnloadSeconds * 1000;
}
