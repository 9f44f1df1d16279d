import { invalidArg } from '../../base/error.js';
import { unknownRegion } from '../../protocol/infer/parameters.js';
import type { RegionLease, SharedMemoryPlace } from '../../protocol/infer/shared-memory.js';
import type { Region } from './region.js';

const UINT64_MAX = 2n ** 64n - 1n;

/** The regions that one request uses; they stay registered until it is released. */
export class Lease implements RegionLease {
  readonly #regions: ReadonlyMap<string, Region>;
  readonly #onLast: (region: Region) => void;
  readonly #held: Region[] = [];

  /** `onLast`: a region that is to go has lost its last user. */
  constructor(regions: ReadonlyMap<string, Region>, onLast: (region: Region) => void) {
    this.#regions = regions;
    this.#onLast = onLast;
  }

  read(place: SharedMemoryPlace): Uint8Array {
    const region = this.#hold(place);
    return region.file.read(region.start + Number(place.offset), Number(place.byteSize));
  }

  reserve(place: SharedMemoryPlace): void {
    this.#hold(place);
  }

  write(place: SharedMemoryPlace, bytes: Uint8Array): void {
    const region = this.#hold(place);
    region.file.write(region.start + Number(place.offset), bytes);
  }

  release(): void {
    for (const region of this.#held.splice(0)) {
      region.uses--;
      if (region.uses === 0 && region.leaving) this.#onLast(region);
    }
  }

  #hold(place: SharedMemoryPlace): Region {
    const name = place.region;
    let region = this.#held.find((held) => held.name === name);
    if (region === undefined) {
      region = this.#regions.get(name);
      if (region === undefined) throw unknownRegion(name);
      region.uses++;
      this.#held.push(region);
    }
    checkRange(region, place);
    return region;
  }
}

function checkRange({ name, byteSize: size }: Region, { offset, byteSize }: SharedMemoryPlace): void {
  if (offset >= size) throw invalidArg(`Invalid offset for shared memory region: '${name}'`);
  if (offset + byteSize > UINT64_MAX) {
    throw invalidArg(
      `Integer overflow detected: byte_size (${byteSize}) + offset (${offset}) exceeds maximum value (${UINT64_MAX}) for region '${name}'`,
    );
  }
  if (offset + byteSize > size) throw invalidArg(`Invalid offset + byte size for shared memory region: '${name}'`);
}
