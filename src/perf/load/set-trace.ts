import type { InferenceServerClient } from '../../client/index.js';
import { messageOf } from '../error/message-of.js';
import { startUpError } from '../error/perf-error.js';
import type { ConnectionOptions } from '../options/connection-options.js';

/** Changes the server's global trace settings, if any were given (settings in the order of their names). */
export async function setTrace(
  { trace }: Pick<ConnectionOptions, 'trace'>,
  client: InferenceServerClient,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  if (trace.size === 0) return;
  const entries = [...trace].sort(([a], [b]) => (a < b ? -1 : 1));
  // The level is a list of words on the wire.
  const settings = entries.map(([name, value]) => [name, name === 'trace_level' ? [value] : value] as const);
  await client.control.updateTraceSettings(Object.fromEntries(settings), '', { headers }).catch((reason: unknown) => {
    throw startUpError('failed to create triton client backend', messageOf(reason));
  });
}
