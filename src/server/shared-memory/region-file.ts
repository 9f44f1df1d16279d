import { constants as bufferLimits } from 'node:buffer';
import { closeSync, constants, fstatSync, openSync, readSync, type Stats, statSync, writeSync } from 'node:fs';
import { TritonError } from '../../base/error.js';
import { sharedMemoryPath } from '../../protocol/shared-memory-path.js';

/** Most bytes of one call of the system: it takes no length beyond 2^31. */
const PIECE = 2 ** 30;

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
  /** What distinguishes the object from another one that has its key later. */
  readonly #identity: Pick<Stats, 'dev' | 'ino'>;
  /** Regions that use it. */
  #holders = 1;

  private constructor(key: string, fd: number, stats: Stats) {
    this.#key = key;
    this.#fd = fd;
    this.#identity = stats;
    this.size = stats.size;
  }

  /** True when the object is still the one that the key names, with the size that it had. */
  isCurrent(): boolean {
    const file = sharedMemoryPath(this.#key);
    if (file === undefined || this.#fd < 0) return false;
    const found = statSync(file, { throwIfNoEntry: false });
    if (found === undefined) return false;
    return found.dev === this.#identity.dev && found.ino === this.#identity.ino && found.size === this.size;
  }

  /** False once the last region that used it has gone. */
  get isOpen(): boolean {
    return this.#fd >= 0;
  }

  /** Another region uses it: one more `close` is needed. */
  share(): this {
    this.#holders++;
    return this;
  }

  /**
   * Opens the object of a key as `shm_open(key, O_RDWR)` would: leading slashes do not count, a name with a slash inside
   * does not name an object, links are not followed. Throws INTERNAL with Triton's messages. Creates nothing.
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
      return new RegionFile(key, fd, stat);
    } catch (reason) {
      closeSync(fd);
      throw reason;
    }
  }

  /** The bytes of a range: the one copy of an input on its way from the client's memory to the backend. */
  read(position: number, length: number): Uint8Array {
    if (length > bufferLimits.MAX_LENGTH) {
      throw new TritonError(
        'INVALID_ARG',
        `a tensor of ${length} bytes in the shared memory object '${this.#key}' is too large: ` +
          `at most ${bufferLimits.MAX_LENGTH} bytes are supported`,
      );
    }
    // Memory is only taken for what is there.
    this.#requireSize(position + length);
    const bytes = Buffer.allocUnsafe(length);
    let done = 0;
    while (done < length) {
      const count = readSync(this.#fd, bytes, done, Math.min(PIECE, length - done), position + done);
      if (count === 0) throw this.#shorter();
      done += count;
    }
    return bytes;
  }

  /**
   * Puts bytes into the object, and never beyond its end, which would make it longer: its owner may have made it shorter
   * since it was registered.
   */
  write(position: number, bytes: Uint8Array): void {
    this.#requireSize(position + bytes.length);
    let done = 0;
    try {
      while (done < bytes.length) {
        done += writeSync(this.#fd, bytes, done, Math.min(PIECE, bytes.length - done), position + done);
      }
    } catch (cause) {
      const { message } = cause as Error;
      throw new TritonError('INTERNAL', `cannot write to the shared memory object '${this.#key}': ${message}`, {
        cause,
      });
    }
  }

  /** Closes the object when no other region uses it. */
  close(): void {
    if (--this.#holders > 0) return;
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
  }

  #requireSize(end: number): void {
    if (fstatSync(this.#fd).size < end) throw this.#shorter();
  }

  #shorter(): TritonError {
    return new TritonError('INTERNAL', `the shared memory object '${this.#key}' was made shorter by its owner`);
  }
}

function cannotOpen(key: string, cause?: unknown): TritonError {
  return new TritonError('INTERNAL', `Unable to open shared memory region: '${key}'`, { cause });
}
