/** A decoded picture: 8-bit samples, rows from top to bottom, channels interleaved. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  /** 3 = red, green, blue; 1 = grey. */
  readonly channels: 1 | 3;
  readonly data: Uint8Array;
}
