import { Interrupted } from '../../repository/files/staged-folder.js';

/** Exit statuses of programs that a signal ended: 128 and the signal's number. */
const SIGNAL_STATUS: Readonly<Record<string, number>> = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };

/** Prints why a command failed; returns its exit status: 1, or what shells expect after a signal. */
export function reportFailure(command: string, reason: unknown): number {
  if (!(reason instanceof Error)) throw reason;
  process.stderr.write(`${command}: ${explain(reason)}\n`);
  return reason instanceof Interrupted ? (SIGNAL_STATUS[reason.signalName] ?? 1) : 1;
}

function explain(reason: Error): string {
  const { code, path } = reason as NodeJS.ErrnoException;
  const where = path === undefined ? '' : ` '${path}'`;
  switch (code) {
    case 'ENOSPC':
      return `the disk is full; what was begun has been removed`;
    case 'EACCES':
    case 'EPERM':
      return `no permission for${where}`;
    case 'EROFS':
      return `the file system is read-only:${where}`;
    case 'ENOENT':
      return `no such file or directory:${where}`;
    default:
      return reason.message;
  }
}
