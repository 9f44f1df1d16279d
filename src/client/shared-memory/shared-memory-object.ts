import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  rmSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { invalidArg, TritonError } from '../../base/error.js';
import { type Datatype, elementCount, elementSize } from '../../protocol/datatype.js';
import { sharedMemoryPath } from '../../protocol/shared-memory-path.js';
import type { Tensor } from '../../protocol/tensor.js';
import type { SharedMemoryReference } from '../api/client.js';
import type { SystemSharedMemoryRegion } from '../api/control.js';

/** How an object comes to be. */
export interface SharedMemoryOptions {
  /** Refuses to use an object that exists already. Default false. */
  readonly createOnly?: boolean;
  /** Removes an existing object of that key first; who has it open keeps the old one. Default false. */
  readonly replace?: boolean;
}

/**
 * A system shared memory object of this machine: a server on the same machine reads inputs from it and writes outputs to
 * it. It fits `control.registerSystemSharedMemory` as it is. Needs /dev/shm, that is Linux.
 */
export class SharedMemoryObject implements SystemSharedMemoryRegion {
  /** Name under which the region is registered. */
  readonly name: string;
  readonly key: string;
  readonly byteSize: number;
  readonly #path: string;
  #fd: number;

  private constructor(
    { name, key, byteSize }: Pick<SharedMemoryObject, 'name' | 'key' | 'byteSize'>,
    path: string,
    fd: number,
  ) {
    this.name = name;
    this.key = key;
    this.byteSize = byteSize;
    this.#path = path;
    this.#fd = fd;
  }

  /**
   * Makes the object, or opens an existing one that is large enough. Throws a TritonError: INVALID_ARG for a key that
   * names no object, or a size that does not fit, ALREADY_EXISTS with `createOnly`, INTERNAL for what the system refuses.
   */
  static create(name: string, key: string, byteSize: number, options: SharedMemoryOptions = {}): SharedMemoryObject {
    const path = sharedMemoryPath(key);
    if (path === undefined) {
      throw invalidArg(
        `'${key}' is not a key of a shared memory object; expected a name like /my_region without further /`,
      );
    }
    if (!Number.isSafeInteger(byteSize) || byteSize <= 0) {
      throw invalidArg(`a shared memory object of ${byteSize} bytes is not possible; expected a size above 0`);
    }
    const { O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
    let fd: number;
    try {
      if (options.replace) rmSync(path, { force: true });
      fd = openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW | (options.createOnly ? O_EXCL : 0), 0o600);
    } catch (cause) {
      throw cannotCreate(key, cause as NodeJS.ErrnoException);
    }
    try {
      const { size } = fstatSync(fd);
      if (size === 0) ftruncateSync(fd, byteSize);
      else if (size < byteSize) {
        throw invalidArg(`the shared memory object '${key}' exists with ${size} bytes, fewer than ${byteSize}`);
      }
      return new SharedMemoryObject({ name, key, byteSize }, path, fd);
    } catch (reason) {
      closeSync(fd);
      throw TritonError.from(reason);
    }
  }

  /**
   * Writes tensors (or bytes) one behind the other, the first at `offset`. Returns where each of them lies, for
   * `sharedMemory` of the inputs of a call. Throws INVALID_ARG when they do not fit.
   */
  set(data: readonly (Uint8Array | Pick<Tensor, 'data'>)[], offset = 0): SharedMemoryReference[] {
    let next = offset;
    return data.map((part) => {
      const bytes = part instanceof Uint8Array ? part : part.data;
      const range = this.reference(next, bytes.length);
      for (let done = 0; done < bytes.length; ) {
        done += writeSync(this.#open(), bytes, done, bytes.length - done, next + done);
      }
      next += bytes.length;
      return range;
    });
  }

  /**
   * The tensor that lies at `offset`; a copy. The length of BYTES is found from their own lengths. Throws INVALID_ARG when
   * it does not lie within the region.
   */
  get(name: string, datatype: Datatype, shape: readonly number[], offset = 0): Tensor {
    const count = elementCount(shape);
    const data =
      datatype === 'BYTES' ? this.#bytesElements(count, offset) : this.read(offset, count * elementSize(datatype));
    return { name, datatype, shape, data };
  }

  /** A copy of a range. */
  read(offset = 0, byteSize = this.byteSize - offset): Uint8Array {
    this.reference(offset, byteSize);
    const bytes = Buffer.alloc(byteSize);
    for (let done = 0; done < byteSize; ) {
      const count = readSync(this.#open(), bytes, done, byteSize - done, offset + done);
      if (count === 0) throw invalidArg(`the shared memory object '${this.key}' was made shorter by another process`);
      done += count;
    }
    return bytes;
  }

  /** A range of this region as inputs and outputs of a call name it. Throws INVALID_ARG outside of the region. */
  reference(offset = 0, byteSize = this.byteSize - offset): SharedMemoryReference {
    if (!(offset >= 0 && byteSize >= 0 && offset + byteSize <= this.byteSize)) {
      throw invalidArg(
        `${byteSize} bytes at ${offset} do not lie within the ${this.byteSize} bytes of the shared memory region '${this.name}'`,
      );
    }
    return { region: this.name, byteSize, offset };
  }

  /** Removes the object's name and closes the object here. Servers that registered it keep the memory until they unregister. */
  destroy(): void {
    if (this.#fd < 0) return;
    closeSync(this.#fd);
    this.#fd = -1;
    try {
      unlinkSync(this.#path);
    } catch (reason) {
      // Another process may have removed it already.
      if ((reason as NodeJS.ErrnoException).code !== 'ENOENT') throw TritonError.from(reason);
    }
  }

  #bytesElements(count: number, offset: number): Uint8Array {
    const rest = Buffer.from(this.read(offset));
    let end = 0;
    for (let i = 0; i < count; i++) {
      const length = end + 4 <= rest.length ? rest.readUInt32LE(end) : Number.POSITIVE_INFINITY;
      end += 4 + length;
      if (end > rest.length)
        throw invalidArg(`the region '${this.name}' holds no ${count} BYTES elements at ${offset}`);
    }
    return rest.subarray(0, end);
  }

  #open(): number {
    if (this.#fd < 0) throw invalidArg(`the shared memory region '${this.name}' was destroyed`);
    return this.#fd;
  }
}

function cannotCreate(key: string, cause: NodeJS.ErrnoException): TritonError {
  if (cause.code === 'EEXIST') {
    return new TritonError('ALREADY_EXISTS', `the shared memory object '${key}' exists already`, { cause });
  }
  const hint = cause.code === 'ENOENT' ? ' (system shared memory needs /dev/shm, that is Linux)' : '';
  return new TritonError('INTERNAL', `unable to create the shared memory object '${key}': ${cause.message}${hint}`, {
    cause,
  });
}
