/** A decoded image: 8-bit samples, rows from top to bottom, channels interleaved. */
export interface Image {
  readonly width: number;
  readonly height: number;
  /** 3 = red, green, blue; 1 = grey. */
  readonly channels: 1 | 3;
  readonly data: Uint8Array;
}

/** Where the pixel at (x, y) of the turned image comes from, by EXIF orientation. */
const SOURCES: Readonly<
  Record<number, (x: number, y: number, w: number, h: number) => readonly [x: number, y: number]>
> = {
  2: (x, y, w) => [w - 1 - x, y],
  3: (x, y, w, h) => [w - 1 - x, h - 1 - y],
  4: (x, y, _, h) => [x, h - 1 - y],
  5: (x, y) => [y, x],
  6: (x, y, _, h) => [y, h - 1 - x],
  7: (x, y, w, h) => [w - 1 - y, h - 1 - x],
  8: (x, y, w) => [w - 1 - y, x],
};

/** Turns and mirrors a image as its EXIF orientation (1 to 8) says; the image itself for 1 and for no orientation. */
export function orientImage(image: Image, orientation: number | undefined): Image {
  const sourceOf = orientation === undefined ? undefined : SOURCES[orientation];
  if (sourceOf === undefined) return image;
  const { width: w, height: h, channels, data } = image;
  const turned = (orientation as number) >= 5;
  const [width, height] = turned ? [h, w] : [w, h];
  const result = new Uint8Array(data.length);
  let out = 0;
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const [sx, sy] = sourceOf(x, y, w, h);
      const at = (sy * w + sx) * channels;
      for (let c = 0; c < channels; c++) result[out++] = data[at + c] as number;
    }
  }
  return { width, height, channels, data: result };
}
