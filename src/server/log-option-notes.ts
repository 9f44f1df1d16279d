import type { ServerLog } from './log/server-log.js';
import type { ServerOptions } from './options/server-options.js';

/** Says what was wrong with options that were taken all the same, and which of them change nothing here. */
export function logOptionNotes(options: ServerOptions, log: ServerLog): void {
  for (const fault of options.metrics.quantileFaults) log.error(fault);
  for (const note of options.notes) log.info(note);
}
