import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { FrameFault } from './frame-reader.js';

/** Regions start at multiples of this, in bytes. */
const REGION_ALIGNMENT = 64;
const SMALLEST_FILE = 1 << 20;

let fileNumber = 0;

/**
 * Opens a file for shared memory that has no name any more: it lives as long as a process holds it, so nothing stays
 * behind whatever ends the server. In memory where the system has a place for that, else among the temporary files.
 */
export function openUnnamedFile(): number {
  const name = `triton-python-${process.pid}-${fileNumber++}-${Math.random().toString(36).slice(2)}`;
  let first: unknown;
  for (const folder of ['/dev/shm', os.tmpdir()]) {
    const file = path.join(folder, name);
    try {
      const fd = fs.openSync(file, 'wx+', 0o600);
      fs.unlinkSync(file);
      return fd;
    } catch (reason) {
      first ??= reason;
    }
  }
  throw first;
}

/** The file that the server writes and a model's process maps: large tensors, each in a region of its own. */
export class SharedMemory {
  readonly fd = openUnnamedFile();
  /** Free regions, ascending, never adjacent. */
  readonly #free: { offset: number; size: number }[] = [];
  readonly #used = new Map<number, number>();
  #end = 0;
  #fileSize = 0;
  #closed = false;

  /** Bytes that the file occupies at most. */
  get size(): number {
    return this.#fileSize;
  }

  /** Stores the bytes; returns their offset, or undefined when the system has no room for them or the file is closed. */
  write(data: Uint8Array): number | undefined {
    // The descriptor may be somebody else's by now.
    if (this.#closed) return undefined;
    const size = Math.ceil(data.byteLength / REGION_ALIGNMENT) * REGION_ALIGNMENT;
    const offset = this.#allocate(size);
    try {
      if (this.#end > this.#fileSize) {
        const wanted = Math.max(SMALLEST_FILE, this.#fileSize * 2, this.#end);
        fs.ftruncateSync(this.fd, wanted);
        this.#fileSize = wanted;
      }
      for (let done = 0; done < data.byteLength; ) {
        done += fs.writeSync(this.fd, data, done, data.byteLength - done, offset + done);
      }
      return offset;
    } catch {
      this.release(offset);
      return undefined;
    }
  }

  /** Reads a region that the process gives back unchanged. Throws FrameFault when it is not one, or smaller. */
  read(offset: number, size: number): Uint8Array {
    const length = this.#used.get(offset);
    if (length === undefined || size > length) {
      throw new FrameFault(`it gives ${size} bytes back at ${offset}, where it has no tensor of that size`);
    }
    return readRegion(this.fd, offset, size);
  }

  /** Takes a region back that nobody reads any more. Throws FrameFault for one that is not in use. */
  release(start: number): void {
    let size = this.#used.get(start);
    if (size === undefined) throw new FrameFault(`it releases a region at ${start}, which is not in use`);
    this.#used.delete(start);
    let offset = start;
    const free = this.#free;
    let i = 0;
    while (i < free.length && free[i]!.offset < offset) i++;
    const next = free[i];
    if (next !== undefined && offset + size === next.offset) {
      size += next.size;
      free.splice(i, 1);
    }
    const previous = free[i - 1];
    if (previous !== undefined && previous.offset + previous.size === offset) {
      offset = previous.offset;
      size += previous.size;
      free.splice(--i, 1);
    }
    if (offset + size === this.#end) this.#end = offset;
    else free.splice(i, 0, { offset, size });
  }

  /** Gives the memory back to the system when nothing is stored. */
  trim(): void {
    if (this.#used.size > 0 || this.#fileSize === 0) return;
    // The process keeps its mapping: it touches a region only after the file has grown over it again.
    fs.ftruncateSync(this.fd, 0);
    this.#fileSize = 0;
  }

  close(): void {
    this.#closed = true;
    fs.closeSync(this.fd);
  }

  #allocate(size: number): number {
    const i = this.#free.findIndex((region) => region.size >= size);
    let offset = this.#end;
    if (i < 0) {
      this.#end += size;
    } else {
      const region = this.#free[i]!;
      offset = region.offset;
      if (region.size === size) this.#free.splice(i, 1);
      else this.#free[i] = { offset: offset + size, size: region.size - size };
    }
    this.#used.set(offset, size);
    return offset;
  }
}

/**
 * The file that a model's process writes. A region that was read is named to the process, which may use it again from then
 * on; nothing else gives a region back, so what one of its threads sends says nothing about the regions of another.
 */
export class ModelMemory {
  readonly fd = openUnnamedFile();
  #read: number[] = [];
  #used = false;
  #knownSize = 0;
  #closed = false;

  /** True when the process has used the file. */
  get used(): boolean {
    return this.#used;
  }

  /** True when regions were read that the process does not know of. */
  get hasRead(): boolean {
    return this.#read.length > 0;
  }

  /** Reads a region into memory of its own. Throws FrameFault for one that is not in the file. */
  read(offset: number, size: number): Uint8Array {
    this.#check(offset, size);
    const data = readRegion(this.fd, offset, size);
    this.#used = true;
    this.#read.push(offset);
    return data;
  }

  /** Offsets of the regions that were read since the last call. */
  takeRead(): readonly number[] {
    if (this.#read.length === 0) return NONE;
    const read = this.#read;
    this.#read = [];
    return read;
  }

  /** These regions were taken for a frame that was not sent. */
  untake(read: readonly number[]): void {
    this.#read.push(...read);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    fs.closeSync(this.fd);
  }

  /** A size that was announced is believed only where the file is as long: memory is reserved for it. */
  #check(offset: number, size: number): void {
    if (offset + size <= this.#knownSize) return;
    if (this.#closed) throw new FrameFault('its memory is closed');
    this.#knownSize = fs.fstatSync(this.fd).size;
    if (offset + size > this.#knownSize) {
      throw new FrameFault(
        `a tensor of ${size} bytes at ${offset} lies beyond the end of its shared memory, which has ${this.#knownSize} bytes`,
      );
    }
  }
}

const NONE: readonly number[] = [];

/** Reads a region of a file into memory of its own. */
function readRegion(fd: number, offset: number, size: number): Uint8Array {
  const data = Buffer.allocUnsafeSlow(size);
  for (let done = 0; done < size; ) {
    const count = fs.readSync(fd, data, done, size - done, offset + done);
    if (count === 0) throw new FrameFault('its shared memory ended while a tensor was read');
    done += count;
  }
  return data;
}
