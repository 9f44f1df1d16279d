/**
 * The `triton` command: picks the subcommand, loads only what that subcommand needs, and turns every way out into an
 * exit status (never process.exit: instances in worker threads must end by themselves first).
 */
import { type CommandList, runCommand } from './frame/command.js';
import { SIGPIPE_STATUS, watchOutput } from './frame/watch-output.js';

const COMMANDS: CommandList = {
  serve: { summary: 'serve model repositories over HTTP, gRPC and metrics', load: () => import('./serve.js') },
  repo: { summary: 'make, look at and check model repositories', load: () => import('./repo/repo.js') },
  doctor: { summary: 'report what this machine offers and what is missing', load: () => import('./doctor.js') },
  'image-client': { summary: 'classify images with a model on a server', load: () => import('./image-client.js') },
  perf: { summary: 'measure a model on a server', load: () => import('./perf.js') },
};

const SUMMARY =
  'An inference server, model repository checker, image client and load generator that speak the protocols of Triton Inference Server.';

/** Runs the program with the arguments after its name. Sets process.exitCode. */
export async function main(args: readonly string[]): Promise<void> {
  if (args[0] === 'serve') {
    process.exitCode = await dispatch(args);
    return;
  }
  const output = watchOutput(args[0]);
  process.exitCode = output.status(await dispatch(args));
}

async function dispatch(args: readonly string[]): Promise<number> {
  try {
    return await runCommand({ name: 'triton', summary: SUMMARY, commands: COMMANDS }, args);
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException | null)?.code === 'EPIPE') return SIGPIPE_STATUS;
    const text = reason instanceof Error ? (process.env['TRITON_DEBUG'] ? reason.stack : reason.message) : reason;
    process.stderr.on('error', () => {}); // the status alone then says that something failed
    process.stderr.write(`triton ${args[0]}: ${text}\n`);
    return 1;
  }
}
