import { versionLine } from '../base/package.js';
import { endBySignal, endNow } from '../base/process-end.js';
import { processOutputs } from '../server/log/process-outputs.js';
import { resolveOptions, serveHelp } from '../server/options/resolve-options.js';
import { tuneHeap } from '../server/start/tune-heap.js';
import { StopRequest } from '../server/stop/stop-request.js';
import { watchSignals } from '../server/stop/watch-signals.js';
import type { Command } from './frame/command.js';

/** Milliseconds that the program may take to end by itself after the server has stopped. */
const LEAVE_MS = 2000;

/** `triton serve`: runs until SIGINT or SIGTERM; 0 after a clean stop; ended by the signal while it still loads models. */
export const run: Command = async (args) => {
  const resolved = resolveOptions(args, (line) => processOutputs().stderr.write(`${line}\n`));
  if (resolved.kind === 'help' || resolved.kind === 'version') {
    processOutputs().stdout.write(resolved.kind === 'help' ? serveHelp() : versionLine());
    return 0;
  }
  if (resolved.kind === 'error') {
    processOutputs().stderr.write(`${resolved.message}\n`);
    return 1;
  }
  const request = new StopRequest(resolved.options.general.exitTimeoutSeconds);
  const signals = watchSignals(request);
  tuneHeap();
  const { startServer, ServerStartError, ServerStopped } = await import('../server/server.js');
  try {
    const server = await startServer(resolved.options, undefined, request);
    if (!request.signal.aborted) {
      await new Promise<void>((resolve) => {
        request.signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
    if (await server.stop()) return leave(0);
    // The exit timeout ran out: whatever still runs cannot be waited for.
    return server.engine.exitNow(1);
  } catch (reason) {
    // Before it is ready the server ends by the signal, like any program.
    if (reason instanceof ServerStopped) endBySignal(signals.first ?? 'SIGTERM');
    if (!(reason instanceof ServerStartError)) throw reason;
    if (reason.message !== '') processOutputs().stderr.write(`${reason.message}\n`);
    return leave(1);
  }
};

/** Ends the process soon, should anything that was given up keep it running. */
function leave(status: number): number {
  setTimeout(() => endNow(status), LEAVE_MS).unref();
  return status;
}
