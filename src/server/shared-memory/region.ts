import type { RegionFile } from './region-file.js';
import type { RegionStatus } from './regions.js';

/** A registered region and who uses it. */
export class Region implements RegionStatus {
  readonly name: string;
  readonly key: string;
  readonly offset: bigint;
  readonly byteSize: bigint;
  readonly file: RegionFile;
  /** Where the region begins in the object. */
  readonly start: number;
  /** Requests that wait for their last response. */
  uses = 0;
  /** Goes when the last use ends. */
  leaving = false;

  constructor({ name, key, offset, byteSize }: RegionStatus, file: RegionFile) {
    this.name = name;
    this.key = key;
    this.offset = offset;
    this.byteSize = byteSize;
    this.file = file;
    this.start = Number(offset);
  }
}
