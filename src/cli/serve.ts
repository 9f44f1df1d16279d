import { processOutputs } from '../server/log/process-outputs.js';
import { resolveOptions } from '../server/options/resolve-options.js';
import { USAGE_LINE, usageText } from '../server/options/usage.js';
import { tuneHeap } from '../server/tune-heap.js';
import type { Command } from './main.js';

/** `triton serve`: runs until SIGINT or SIGTERM; 0 after a clean stop. */
export const run: Command = async (args) => {
  const resolved = resolveOptions(args, (line) => processOutputs().stderr.write(`${line}\n`));
  if (resolved.kind === 'help') {
    processOutputs().stdout.write(usageText());
    return 0;
  }
  if (resolved.kind === 'error') {
    const program = /^(unrecognized option|option |invalid option)/.test(resolved.message) ? 'triton serve: ' : '';
    processOutputs().stderr.write(`${resolved.usage ? `${USAGE_LINE}\n\n` : ''}${program}${resolved.message}\n`);
    return 1;
  }
  let stopRequested = false;
  let onStop = (): void => {};
  const onSignal = (_name: NodeJS.Signals, number: number): void => {
    processOutputs().stdout.write(`Signal (${number}) received.\n`);
    stopRequested = true;
    onStop();
  };
  // Stay in place until the process ends: a further signal only prints its line.
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  tuneHeap();
  const { startServer, ServerStartError } = await import('../server/server.js');
  try {
    const server = await startServer(resolved.options);
    if (!stopRequested) {
      await new Promise<void>((resolve) => {
        onStop = resolve;
      });
    }
    if (await server.stop()) return 0;
    // The exit timeout ran out: whatever still runs cannot be waited for.
    return server.engine.exitNow(1);
  } catch (reason) {
    if (!(reason instanceof ServerStartError)) throw reason;
    if (reason.message !== '') processOutputs().stderr.write(`${reason.message}\n`);
    return 1;
  }
};
