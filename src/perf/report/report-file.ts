/** Files that a run writes at its end: checked before its first request, so that no measurement is lost. */
import { closeSync, openSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PerfError } from '../error/perf-error.js';

/** Throws a PerfError when the file cannot be written; a file that is there is left as it is. `option` named the file. */
export function checkReportFile(file: string, option = '-f'): void {
  try {
    const known = statSync(file, { throwIfNoEntry: false });
    if (known?.isDirectory()) throw cannotWrite(file, 'it is a directory; name a file in it');
    // Pipes and devices: opening one may wait for its reader.
    if (known !== undefined && !known.isFile()) return;
    closeSync(openSync(file, 'a'));
    if (known === undefined) rmSync(file);
  } catch (reason) {
    throw reason instanceof PerfError ? reason : cannotWrite(file, causeOf(reason, file, option));
  }
}

/** Writes a report. Throws a PerfError that names the file and the cause. */
export function writeReportFile(file: string, content: string, option = '-f'): void {
  try {
    writeFileSync(file, content);
  } catch (reason) {
    throw cannotWrite(file, causeOf(reason, file, option));
  }
}

function causeOf(reason: unknown, file: string, option: string): string {
  const { code, message } = reason as NodeJS.ErrnoException;
  if (code === 'ENOENT' || code === 'ENOTDIR') {
    return `the directory '${path.dirname(file)}' does not exist; make it, or name another file with ${option}`;
  }
  if (code === 'ENOSPC' || code === 'EDQUOT') return `the disk is full; make room, or name another file with ${option}`;
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
    return `you may not write there; name another file with ${option}`;
  }
  return message;
}

function cannotWrite(file: string, why: string): PerfError {
  return new PerfError(`error: cannot write the report '${file}': ${why}`, { emptyLines: 0 });
}
