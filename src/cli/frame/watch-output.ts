import { fstatSync, writeFileSync } from 'node:fs';

/** Exit status of a program that ended because the reader of its output went away: 128 and SIGPIPE's number. */
export const SIGPIPE_STATUS = 141;

/** Long-running commands: they end at once when nobody reads what they print. The others finish what they do. */
const ENDS_AT_ONCE: ReadonlySet<string> = new Set(['perf', 'image-client']);

/** What became of the output of a command. */
export interface WatchedOutput {
  /** The exit status of a command whose own status is given. */
  status(own: number): number;
}

/**
 * The one place that deals with output that cannot be written, for all commands: a reader that went away
 * (`triton ... | head`) is not an error and ends a command quietly, with status 0 when the work was done, else 141; a full
 * disk is reported in one line and makes the status 1. `triton serve` goes on instead:
 * src/server/log/line-output.ts.
 */
export function watchOutput(command: string | undefined): WatchedOutput {
  let failed = false;
  const onError =
    (stream: 'stdout' | 'stderr') =>
    (reason: NodeJS.ErrnoException): void => {
      if (reason.code === 'EPIPE') {
        if (command !== undefined && ENDS_AT_ONCE.has(command)) process.exit(SIGPIPE_STATUS);
        return;
      }
      if (failed) return;
      failed = true;
      process.exitCode = 1;
      // Where standard error itself fails nothing is left to report it to.
      const text = `triton${command === undefined ? '' : ` ${command}`}: the output cannot be written: ${reason.message}\n`;
      if (stream === 'stdout') process.stderr.write(text);
    };
  writeWhole();
  process.stdout.on('error', onError('stdout'));
  process.stderr.on('error', onError('stderr'));
  return { status: (own) => (own === 0 && failed ? 1 : own) };
}

/** Node's stream for a regular file takes a write of a part, as of a disk that becomes full, for a whole one. */
function writeWhole(): void {
  const { stdout } = process;
  try {
    if (!fstatSync(1).isFile()) return;
  } catch {
    return; // closed: the first write says so
  }
  stdout._write = (chunk: Buffer, _encoding, callback) => {
    try {
      writeFileSync(1, chunk);
      callback();
    } catch (reason) {
      callback(reason as Error);
    }
  };
}
