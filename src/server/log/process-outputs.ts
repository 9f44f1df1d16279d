import { closeSync, constants, fstatSync, openSync, type Stats } from 'node:fs';
import { isatty } from 'node:tty';
import { atProcessEnd } from '../../base/process-end.js';
import { LineOutput } from './line-output.js';

/** How long the end of the process waits for a reader of its output, in ms. */
export const LAST_FLUSH_MS = 500;

let outputs: { readonly stdout: LineOutput; readonly stderr: LineOutput } | undefined;

/**
 * Standard output and standard error of a server, as destinations that never block. When both lead to the same place
 * they are one, so that no line of one stands inside a line of the other.
 */
export function processOutputs(): { readonly stdout: LineOutput; readonly stderr: LineOutput } {
  outputs ??= open();
  return outputs;
}

function open(): { stdout: LineOutput; stderr: LineOutput } {
  const [one, two] = [statsOf(1), statsOf(2)];
  const stdout = LineOutput.of(unblockedDescriptor(1, one));
  const same = one !== undefined && two !== undefined && one.dev === two.dev && one.ino === two.ino;
  const stderr = same ? stdout : LineOutput.of(unblockedDescriptor(2, two));
  atProcessEnd(() => {
    stdout.flush(LAST_FLUSH_MS);
    if (!same) stderr.flush(LAST_FLUSH_MS);
  });
  return { stdout, stderr };
}

function statsOf(fd: number): Stats | undefined {
  try {
    return fstatSync(fd);
  } catch {
    return undefined; // closed: each write fails, and is counted
  }
}

/**
 * A descriptor for the same pipe or terminal that does not block. It is opened a second time: the flag of the first one
 * is shared with every process that inherited it. Regular files do not block and would lose their position; sockets and
 * pipes of other users cannot be opened, and Node's own stream makes those not block.
 */
function unblockedDescriptor(fd: 1 | 2, stats: Stats | undefined): number {
  if (stats === undefined || stats.isFile()) return fd;
  if (stats.isFIFO() || isatty(fd)) {
    try {
      const again = openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
      if (fstatSync(again).ino === stats.ino) return again;
      closeSync(again);
    } catch {
      // No /proc, no permission, or no reader any more: the stream below.
    }
  }
  if (stats.isFIFO() || stats.isSocket()) {
    // Making the stream sets the flag; errors come from the writes here, never from the stream.
    const stream = fd === 1 ? process.stdout : process.stderr;
    stream.on('error', () => {});
  }
  return fd;
}
