import { closeSync, constants, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import { TritonError } from '../../protocol/error.js';
import { sharedMemoryPath } from '../../protocol/shared-memory-path.js';

/**
 * An opened shared memory object. Reading and writing by position is coherent with the mappings of other processes, as
 * both work on the same pages.
 */
export class RegionFile {
  /** Bytes of the object when it was opened. */
  readonly size: number;
  readonly #key: string;
  /** -1 once closed: descriptors are used again by others. */
  #fd: number;

  private constructor(key: string, fd: number, size: number) {
    this.#key = key;
    this.#fd = fd;
    this.size = size;
  }

  /**
   * Opens the object of a key as `shm_open(key, O_RDWR)` would: leading slashes do not count, a name with a slash inside
   * is no object, links are not followed. Throws INTERNAL with the original's texts. Creates nothing.
   */
  static open(key: string): RegionFile {
    const file = sharedMemoryPath(key);
    if (file === undefined) throw cannotOpen(key);
    let fd: number;
    try {
      fd = openSync(file, constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    } catch (cause) {
      throw cannotOpen(key, cause);
    }
    try {
      const stat = fstatSync(fd);
      if (!stat.isFile()) throw new TritonError('INTERNAL', `Invalid shared memory region: '${key}'`);
      return new RegionFile(key, fd, stat.size);
    } catch (reason) {
      closeSync(fd);
      throw reason;
    }
  }

  /** The bytes of a range: the one copy of an input on its way from the client's memory to the backend. */
  read(position: number, length: number): Uint8Array {
    const bytes = Buffer.allocUnsafe(length);
    let done = 0;
    while (done < length) {
      const count = readSync(this.#fd, bytes, done, length - done, position + done);
      if (count === 0) {
        throw new TritonError('INTERNAL', `the shared memory object '${this.#key}' was made shorter by its owner`);
      }
      done += count;
    }
    return bytes;
  }

  /** Puts bytes into the object. */
  write(position: number, bytes: Uint8Array): void {
    let done = 0;
    try {
      while (done < bytes.length) {
        done += writeSync(this.#fd, bytes, done, bytes.length - done, position + done);
      }
    } catch (cause) {
      const { message } = cause as Error;
      throw new TritonError('INTERNAL', `cannot write to the shared memory object '${this.#key}': ${message}`, {
        cause,
      });
    }
  }

  close(): void {
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
  }
}

function cannotOpen(key: string, cause?: unknown): TritonError {
  return new TritonError('INTERNAL', `Unable to open shared memory region: '${key}'`, { cause });
}
