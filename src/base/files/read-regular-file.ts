/**
 * The one way in which files of models are opened and read: regular files only, and never more of them than the caller
 * allows. A pipe or a device under the name of a model's file would block whoever opens it, or never end.
 */
import { closeSync, constants, fstatSync, openSync, readSync, type Stats, statSync } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';

/**
 * The path does not name a regular file (`code` is `ENOTREG`), or the file is larger than its reader allows (`EFBIG`).
 * The message names the path, what is there, and the bound. In shape it is an error of the system, with `code` and `path`:
 * who reads files handles both alike, and says with a TritonError what it means.
 */
export class UnreadableFileError extends Error {
  override readonly name = 'UnreadableFileError';

  constructor(
    readonly code: 'ENOTREG' | 'EFBIG',
    readonly path: string,
    /** The reason alone, as in `Is a named pipe, not a regular file`. */
    readonly reason: string,
  ) {
    super(`'${path}': ${reason}`);
  }
}

/**
 * `O_NONBLOCK`: a pipe that takes the path's place between the first look and the opening does not block; for regular
 * files it changes nothing. The first look comes before the opening, because opening a device can have effects.
 */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/** Node reads at most this much in one call, and a Buffer of this size always works. */
const PIECE = 2 ** 30;

/** Most bytes of a configuration (`config.pbtxt`) that are read. */
export const MAX_CONFIG_BYTES = 16 * 2 ** 20;
/** Most bytes of a model that is source code. */
export const MAX_SOURCE_BYTES = 16 * 2 ** 20;
/** Most bytes of a label file that are read. */
export const MAX_LABEL_BYTES = 64 * 2 ** 20;
/** Most bytes of a data file (warm-up, initial states) that are read: one less than 2 GiB. */
export const MAX_DATA_BYTES = 2 ** 31 - 1;

/** Opens a regular file for reading. Throws UnreadableFileError for everything else, and the system's errors. */
export async function openRegularFile(path: string): Promise<FileHandle> {
  requireRegular(path, await stat(path));
  const file = await open(path, FLAGS);
  try {
    requireRegular(path, await file.stat());
    return file;
  } catch (reason) {
    await file.close();
    throw reason;
  }
}

/** The same without a promise; the caller closes the descriptor. `size` in bytes. */
export function openRegularFileSync(path: string): { readonly fd: number; readonly size: number } {
  requireRegular(path, statSync(path));
  const fd = openSync(path, FLAGS);
  try {
    const stats = fstatSync(fd);
    requireRegular(path, stats);
    return { fd, size: stats.size };
  } catch (reason) {
    closeSync(fd);
    throw reason;
  }
}

/**
 * The bytes of a regular file, or the first `atMost` of them where that is given. Throws UnreadableFileError when there
 * is not a regular file or it has more than `maxBytes`, and the system's errors.
 */
export async function readRegularFile(
  path: string,
  maxBytes: number,
  atMost = Number.POSITIVE_INFINITY,
): Promise<Buffer> {
  const file = await openRegularFile(path);
  try {
    const { size } = await file.stat();
    requireSize(path, Math.min(size, atMost), maxBytes);
    const content = Buffer.allocUnsafe(Math.min(size, atMost));
    let done = 0;
    while (done < content.length) {
      const { bytesRead } = await file.read(content, done, Math.min(PIECE, content.length - done), done);
      // The file became shorter while it was read: what there was.
      if (bytesRead === 0) break;
      done += bytesRead;
    }
    return content.subarray(0, done);
  } finally {
    await file.close();
  }
}

/** The same without a promise. */
export function readRegularFileSync(path: string, maxBytes: number): Buffer {
  const { fd, size } = openRegularFileSync(path);
  try {
    requireSize(path, size, maxBytes);
    const content = Buffer.allocUnsafe(size);
    let done = 0;
    while (done < size) {
      const count = readSync(fd, content, done, Math.min(PIECE, size - done), done);
      if (count === 0) break; // as above
      done += count;
    }
    return content.subarray(0, done);
  } finally {
    closeSync(fd);
  }
}

/**
 * Throws UnreadableFileError unless the path names a regular file, links followed, or nothing at all: what reads it
 * says best that it is missing. For files that are read by others, such as a runtime or an interpreter.
 */
export function requireRegularFile(path: string): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats !== undefined) requireRegular(path, stats);
}

function requireRegular(path: string, stats: Stats): void {
  if (stats.isFile()) return;
  const kind = stats.isDirectory()
    ? 'Is a directory'
    : stats.isFIFO()
      ? 'Is a named pipe'
      : stats.isSocket()
        ? 'Is a socket'
        : 'Is a device';
  // Of a directory the system's own words are known, and clients match on them.
  if (stats.isDirectory()) throw new UnreadableFileError('ENOTREG', path, kind);
  throw new UnreadableFileError('ENOTREG', path, `${kind}, not a regular file`);
}

function requireSize(path: string, size: number, maxBytes: number): void {
  if (size <= maxBytes) return;
  throw new UnreadableFileError('EFBIG', path, `Has ${size} bytes; at most ${maxBytes} of such a file are read`);
}
