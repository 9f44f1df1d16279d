import type { ServerLog } from './log/server-log.js';
import type { ServerOptions } from './options/server-options.js';

/** Says which options were taken although this server does not do all that they ask for. */
export function logLimits(options: ServerOptions, log: ServerLog): void {
  for (const fault of options.metrics.quantileFaults) log.error(fault);
  if (options.rateLimit) {
    log.warning('--rate-limit=execution_count: executions are limited by the number of instances, not by resources');
  }
  if (options.allowClientSharedMemory) {
    log.warning('--allow-client-shm=true: this server cannot use shared memory; registering a region is refused');
  }
}
