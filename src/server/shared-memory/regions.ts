/** Registered shared memory. */
import { compareBytes } from '../../base/compare-bytes.js';
import { invalidArg, TritonError } from '../../base/error.js';
import type { SharedMemoryRegions } from '../../protocol/infer/shared-memory.js';
import { sharedMemoryName } from '../../protocol/shared-memory-path.js';
import { Lease } from './lease.js';
import { Region } from './region.js';
import { RegionFile } from './region-file.js';

/** The kinds of regions. */
export type SharedMemoryKind = 'system' | 'cuda';

/** A registered region of system shared memory, as status shows it. */
export interface RegionStatus {
  readonly name: string;
  /** As given at registration. */
  readonly key: string;
  readonly offset: bigint;
  readonly byteSize: bigint;
}

/** Keys of the Python backend's own memory in Triton, which clients may not use. */
const RESERVED_PREFIX = 'triton_python_backend_shm_region_';
/** Regions that clients may register at a time, where no other limit is set. */
export const DEFAULT_SHARED_MEMORY_REGIONS = 16_384;
/** Objects are mapped from the beginning of a page on. */
const PAGE_BYTES = 4096n;

/** The regions of one server. There are no CUDA regions: this server cannot open the memory of a GPU. */
export class ServerSharedMemory implements SharedMemoryRegions {
  readonly #allowed: boolean;
  readonly #platform: NodeJS.Platform;
  readonly #regions = new Map<string, Region>();
  /** The object that was opened last for each key: regions of one object share its descriptor. */
  readonly #files = new Map<string, RegionFile>();
  readonly #limit: number;

  /** `allowed`: the option --allow-client-shm. `limit`: --client-shm-region-limit. */
  constructor(
    allowed: boolean,
    platform: NodeJS.Platform = process.platform,
    limit: number = DEFAULT_SHARED_MEMORY_REGIONS,
  ) {
    this.#allowed = allowed;
    this.#platform = platform;
    this.#limit = limit;
  }

  /** Throws UNSUPPORTED where clients may not register: by option, or because the system has no such memory. */
  checkAllowed(): void {
    if (!this.#allowed) {
      throw new TritonError(
        'UNSUPPORTED',
        "Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable.",
      );
    }
    if (this.#platform !== 'linux') {
      const system = this.#platform === 'win32' ? 'Windows' : this.#platform;
      throw new TritonError('UNSUPPORTED', `Shared memory feature is currently not supported on ${system}`);
    }
  }

  /** Registers a range of a shared memory object. Throws Triton's errors in its order. */
  register({ name, key, offset, byteSize }: RegionStatus): void {
    const cannot = `cannot register shared memory region '${name}'`;
    const object = sharedMemoryName(key);
    if (object === '') throw invalidArg(`${cannot} - invalid shm key '${key}'`);
    if (object.startsWith(RESERVED_PREFIX)) {
      throw invalidArg(`${cannot} with key '${key}' as the key contains the reserved prefix '${RESERVED_PREFIX}'`);
    }
    this.#checkNew(name);
    if (this.#regions.size >= this.#limit) {
      throw new TritonError(
        'UNAVAILABLE',
        `${cannot} - ${this.#regions.size} regions are registered, as many as --client-shm-region-limit allows`,
      );
    }
    const file = this.#open(object, key);
    const failed = `failed to register shared memory region '${name}':`;
    if (offset + byteSize > BigInt(file.size)) {
      this.#close(object, file);
      throw invalidArg(`${failed} invalid args`);
    }
    // What mmap refuses; Triton's message has no blank there.
    if (byteSize === 0n || offset % PAGE_BYTES !== 0n) {
      this.#close(object, file);
      throw invalidArg(`${failed} unable to process address spaceInvalid argument`);
    }
    this.#regions.set(name, new Region({ name, key, offset, byteSize }, file));
  }

  /** Always refuses, as Triton does where no GPU can open the handle. Throws Triton's errors in its order. */
  registerCuda(name: string): never {
    this.#checkNew(name);
    throw invalidArg('failed to register shared memory region: invalid args');
  }

  /** Registered regions of a kind, sorted by name; of one name unless it is ''. Throws NOT_FOUND for an unknown name. */
  status(kind: SharedMemoryKind, name: string): readonly RegionStatus[] {
    if (name === '') {
      if (kind === 'cuda') return [];
      return [...this.#regions.values()].sort((a, b) => compareBytes(a.name, b.name));
    }
    const region = this.#regions.get(name);
    if (region === undefined) {
      throw new TritonError('NOT_FOUND', `Unable to find ${kind} shared memory region: '${name}'`);
    }
    if (kind === 'cuda') {
      throw new TritonError(
        'NOT_FOUND',
        `The region named '${name}' is registered as system shared memory, not CUDA shared memory`,
      );
    }
    return [region];
  }

  /**
   * Forgets a region, or all of a kind for ''. One that requests use stays until the last of them has its response. Unknown
   * names and those of the other kind are not an error.
   */
  unregister(kind: SharedMemoryKind, name: string): void {
    if (kind === 'cuda') return;
    if (name === '') for (const region of [...this.#regions.values()]) this.#leave(region);
    else {
      const region = this.#regions.get(name);
      if (region !== undefined) this.#leave(region);
    }
  }

  /** For one request; undefined while nothing is registered, so that servers without regions pay nothing. */
  lease(): Lease | undefined {
    if (this.#regions.size === 0) return undefined;
    return new Lease(this.#regions, (region) => this.#leave(region));
  }

  /** Closes every object. */
  close(): void {
    for (const region of this.#regions.values()) region.file.close();
    this.#regions.clear();
    this.#files.clear();
  }

  /** The object of a key: the one that is open already, unless another one has the key by now. */
  #open(object: string, key: string): RegionFile {
    const known = this.#files.get(object);
    if (known?.isCurrent() === true) return known.share();
    const file = RegionFile.open(key);
    this.#files.set(object, file);
    return file;
  }

  #close(object: string, file: RegionFile): void {
    file.close();
    if (!file.isOpen && this.#files.get(object) === file) this.#files.delete(object);
  }

  #checkNew(name: string): void {
    if (this.#regions.has(name)) {
      throw new TritonError('ALREADY_EXISTS', `shared memory region '${name}' already in manager`);
    }
  }

  #leave(region: Region): void {
    if (region.uses > 0) {
      region.leaving = true;
      return;
    }
    // Not there any more when the server was stopped meanwhile.
    if (this.#regions.delete(region.name)) this.#close(sharedMemoryName(region.key), region.file);
  }
}
