/** What decoding and encoding need of registered shared memory. */

/** A range of a registered region. Unsigned, up to 64 bits. */
export interface SharedMemoryPlace {
  readonly region: string;
  readonly offset: bigint;
  readonly byteSize: bigint;
}

/**
 * The regions that one request uses, from its first mention of one until `release`. Every method throws for a region that
 * is not registered (NOT_FOUND) and for a range that does not lie in it (INVALID_ARG).
 */
export interface RegionLease {
  /** The bytes of a range: data of an input. */
  read(place: SharedMemoryPlace): Uint8Array;
  /** Checks a range that an output will be written to. */
  reserve(place: SharedMemoryPlace): void;
  /** Writes to the beginning of a range. */
  write(place: SharedMemoryPlace, bytes: Uint8Array): void;
  /** Ends the use; a second call does nothing. */
  release(): void;
}

/** All registered regions. */
export interface SharedMemoryRegions {
  /** For one request; undefined while no region is registered. */
  lease(): RegionLease | undefined;
}
