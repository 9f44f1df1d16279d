import { resolveOptions } from '../server/options/resolve-options.js';
import { USAGE_LINE, usageText } from '../server/options/usage.js';
import type { Command } from './main.js';

/** `triton serve`: runs until SIGINT or SIGTERM; 0 after a clean stop. */
export const run: Command = async (args) => {
  const resolved = resolveOptions(args, (line) => process.stderr.write(`${line}\n`));
  if (resolved.kind === 'help') {
    process.stdout.write(usageText());
    return 0;
  }
  if (resolved.kind === 'error') {
    const program = /^(unrecognized option|option |invalid option)/.test(resolved.message) ? 'triton serve: ' : '';
    process.stderr.write(`${resolved.usage ? `${USAGE_LINE}\n\n` : ''}${program}${resolved.message}\n`);
    return 1;
  }
  let stopRequested = false;
  let onStop = (): void => {};
  const onSignal = (_name: NodeJS.Signals, number: number): void => {
    process.stdout.write(`Signal (${number}) received.\n`);
    stopRequested = true;
    onStop();
  };
  // Stay in place until the process ends: a further signal only prints its line.
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  const { startServer, ServerStartError } = await import('../server/server.js');
  try {
    const server = await startServer(resolved.options);
    if (!stopRequested) {
      await new Promise<void>((resolve) => {
        onStop = resolve;
      });
    }
    return (await server.stop()) ? 0 : exitUnclean();
  } catch (reason) {
    if (!(reason instanceof ServerStartError)) throw reason;
    if (reason.message !== '') process.stderr.write(`${reason.message}\n`);
    return 1;
  }
};

/** Milliseconds that the process may take to end by itself after the exit timeout. */
const LAST_GRACE_MS = 1000;

/**
 * The exit timeout ran out: ends with status 1 if everything lets go. A thread that is busy inside a model cannot be
 * ended without aborting the process, so then the process kills itself.
 */
function exitUnclean(): number {
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), LAST_GRACE_MS).unref();
  return 1;
}
