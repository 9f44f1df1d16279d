/**
 * The `triton` command: picks the subcommand, loads only what that subcommand needs, and turns every way out into an
 * exit status (never process.exit: instances in worker threads must end by themselves first).
 */
import { packageVersion } from '../base/package.js';
// First of all: what is set here holds for every thread and process that any command starts.
import '../backends/onnxruntime/ort-telemetry.js';
import { PROTOCOL_VERSION } from '../base/package.js';
import { SIGPIPE_STATUS, watchOutput } from './watch-output.js';

/** A subcommand: gets its own arguments, resolves to the exit status. */
export type Command = (args: readonly string[]) => Promise<number>;

interface CommandEntry {
  readonly summary: string;
  load(): Promise<{ run: Command }>;
}

const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  serve: { summary: 'serve model repositories over HTTP, gRPC and metrics', load: () => import('./serve.js') },
  repo: { summary: 'make, look at and check model repositories', load: () => import('./repo.js') },
  doctor: { summary: 'report what this machine offers and what is missing', load: () => import('./doctor.js') },
  'image-client': { summary: 'classify images with a model on a server', load: () => import('./image-client.js') },
  perf: { summary: 'measure a model on a server', load: () => import('./perf.js') },
};

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
  const [name, ...rest] = args;
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    (name === undefined ? process.stderr : process.stdout).write(usage());
    return name === undefined ? 2 : 0;
  }
  if (name === '--version' || name === '-V') {
    process.stdout.write(`triton ${packageVersion()} (protocol of Triton Inference Server ${PROTOCOL_VERSION})\n`);
    return 0;
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    process.stderr.write(`triton: '${name}' is not a command${suggestion(name)}. 'triton --help' lists them.\n`);
    return 2;
  }
  try {
    return await (await command.load()).run(rest);
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException | null)?.code === 'EPIPE') return SIGPIPE_STATUS;
    const text = reason instanceof Error ? (process.env['TRITON_DEBUG'] ? reason.stack : reason.message) : reason;
    process.stderr.on('error', () => {}); // the status alone then says that something failed
    process.stderr.write(`triton ${name}: ${text}\n`);
    return 1;
  }
}

function usage(): string {
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length));
  const rows = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`);
  return `usage: triton COMMAND [arguments]\n\n${rows.join('\n')}\n\n  triton COMMAND --help shows more; triton --version prints the versions\n`;
}

function suggestion(name: string): string {
  const near = Object.keys(COMMANDS).find((known) => known.startsWith(name) || name.startsWith(known));
  return near === undefined ? '' : ` (did you mean '${near}'?)`;
}
