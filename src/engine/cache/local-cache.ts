import { nowNs } from '../../base/clock.js';
import { TritonError } from '../../base/error.js';
import type { Parameters, Tensor } from '../../protocol/tensor.js';

/** Bytes that Triton's cache keeps for itself, whatever it holds. */
const OWN_BYTES = 128;
/** Bytes that Triton's allocator adds to each entry, and what it rounds sizes up to. */
const ENTRY_BYTES = 32;
const ROUNDING = 16;
/** The smallest cache that Triton can make. */
export const SMALLEST_CACHE = 192;

/** What the cache keeps of a response. */
export interface CachedResponse {
  readonly outputs: readonly Tensor[];
  readonly parameters: Parameters;
}

interface Entry {
  readonly response: CachedResponse;
  readonly bytes: number;
  /** Load numbers of the versions that made the response. */
  readonly loads: readonly number[];
}

/** What a cache has done so far; times in ns. */
export interface CacheCounts {
  hits: number;
  misses: number;
  evictions: number;
  lookupNs: number;
  insertionNs: number;
}

/**
 * Responses by key within a budget of bytes, for all models together; the one that was not used for longest goes first.
 * A response lives no longer than the loaded versions that made it. Sizes are counted as Triton counts them, so that the
 * same setting holds the same responses; response parameters, which Triton does not keep, are counted besides.
 */
export class LocalCache {
  readonly counts: CacheCounts = { hits: 0, misses: 0, evictions: 0, lookupNs: 0, insertionNs: 0 };
  readonly #size: number;
  /** In the order of their last use, the oldest first. */
  readonly #entries = new Map<string, Entry>();
  /** Keys of the entries that a loaded version has a part in, by its load number. */
  readonly #keysByLoad = new Map<number, Set<string>>();
  #used = OWN_BYTES;

  /** `size` in bytes. Throws INTERNAL when nothing would fit into it. */
  constructor(size: number) {
    if (size < SMALLEST_CACHE) {
      throw new TritonError(
        'INTERNAL',
        'Failed to initialize LocalCache: Could not initialize buffer in basic_managed_external_buffer constructor' +
          ` (a cache of ${size} bytes is too small, it needs at least ${SMALLEST_CACHE})`,
      );
    }
    this.#size = size;
  }

  /** Responses held. */
  get entries(): number {
    return this.#entries.size;
  }

  /** Share of the budget that is in use, 0 to 1. */
  get utilization(): number {
    return this.#used / this.#size;
  }

  /** The response under a key; it is shared and must not be written to. */
  lookUp(key: string): CachedResponse | undefined {
    const start = nowNs();
    const entry = this.#entries.get(key);
    if (entry === undefined) {
      this.counts.misses++;
    } else {
      this.counts.hits++;
      this.#entries.delete(key);
      this.#entries.set(key, entry);
    }
    this.counts.lookupNs += nowNs() - start;
    return entry?.response;
  }

  /**
   * Keeps a copy of a response until one of the versions that made it, given by their load numbers, is forgotten; false
   * when the key is there already. Throws INVALID_ARG when the response could never fit.
   */
  insert(key: string, response: CachedResponse, loads: readonly number[]): boolean {
    const start = nowNs();
    if (this.#entries.has(key)) return false;
    const content = contentBytes(response);
    const bytes = Math.ceil(content / ROUNDING) * ROUNDING + ENTRY_BYTES;
    if (bytes > this.#size - OWN_BYTES) {
      throw new TritonError(
        'INVALID_ARG',
        `Requested byte_size: ${content} is greater than total cache size: ${this.#size}`,
      );
    }
    for (const [oldest, entry] of this.#entries) {
      if (this.#used + bytes <= this.#size) break;
      this.#remove(oldest, entry);
      this.counts.evictions++;
    }
    const { parameters } = response;
    this.#entries.set(key, { response: { outputs: copyOf(response.outputs), parameters }, bytes, loads });
    this.#used += bytes;
    for (const load of loads) {
      const keys = this.#keysByLoad.get(load);
      if (keys === undefined) this.#keysByLoad.set(load, new Set([key]));
      else keys.add(key);
    }
    this.counts.insertionNs += nowNs() - start;
    return true;
  }

  /** Drops every response that a version had a part in. To be called when it is gone. Linear in their number. */
  forget(load: number): void {
    for (const key of this.#keysByLoad.get(load) ?? []) this.#remove(key, this.#entries.get(key) as Entry);
  }

  #remove(key: string, { bytes, loads }: Entry): void {
    this.#entries.delete(key);
    this.#used -= bytes;
    for (const load of loads) {
      const keys = this.#keysByLoad.get(load);
      keys?.delete(key);
      if (keys?.size === 0) this.#keysByLoad.delete(load);
    }
  }
}

/** Bytes that a response parameter costs besides its name and its value. */
const PARAMETER_BYTES = 32;

/** Size of a response in the form in which Triton stores it, and of its parameters. */
function contentBytes({ outputs, parameters }: CachedResponse): number {
  let bytes = 4;
  for (const [name, value] of parameters) {
    bytes += PARAMETER_BYTES + Buffer.byteLength(name) + (typeof value === 'string' ? Buffer.byteLength(value) : 8);
  }
  for (const { name, datatype, shape, data } of outputs) {
    bytes += 24 + Buffer.byteLength(name) + datatype.length + 8 * shape.length + data.byteLength;
  }
  return bytes;
}

/** The outputs in one block of memory of their own: a view would keep the whole batch that they were cut from. */
function copyOf(outputs: readonly Tensor[]): readonly Tensor[] {
  const starts: number[] = [];
  let size = 0;
  for (const { data } of outputs) {
    starts.push(size);
    // Every tensor starts aligned for elements of any type.
    size = Math.ceil((size + data.byteLength) / 8) * 8;
  }
  const block = Buffer.allocUnsafeSlow(size);
  return outputs.map((output, i) => {
    const start = starts[i]!;
    block.set(output.data, start);
    return { ...output, data: block.subarray(start, start + output.data.byteLength) };
  });
}
