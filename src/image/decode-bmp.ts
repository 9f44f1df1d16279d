import type { Image } from './image.js';

/** Compression kinds of the info header. */
const RGB = 0;
const RLE8 = 1;
const RLE4 = 2;
const BITFIELDS = 3;
const ALPHA_BITFIELDS = 6;

/** Larger images are refused: they would not fit into memory. */
const MAX_PIXELS = 2 ** 30;

interface Header {
  readonly width: number;
  readonly height: number;
  readonly topDown: boolean;
  readonly bits: number;
  readonly compression: number;
  /** Where the pixels begin. */
  readonly offset: number;
  /** Red, green and blue, by index. */
  readonly palette: readonly (readonly [number, number, number])[];
  readonly masks: readonly [red: number, green: number, blue: number];
}

/** True for a file that starts as a Windows bitmap. */
export function isBmp(file: Uint8Array): boolean {
  return file[0] === 0x42 && file[1] === 0x4d && file.length >= 26;
}

/**
 * Decodes a Windows bitmap (sharp does not): 1, 4, 8, 16, 24 and 32 bits, palettes, bit fields, run lengths, both row
 * orders; alpha is dropped. Undefined for what is not a bitmap or is cut short.
 */
export function decodeBmp(file: Uint8Array): Image | undefined {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  try {
    const header = readHeader(view);
    if (header === undefined) return undefined;
    const data = new Uint8Array(header.width * header.height * 3);
    if (header.compression === RLE8 || header.compression === RLE4) readRuns(view, header, data);
    else readRows(view, header, data);
    return { width: header.width, height: header.height, channels: 3, data };
  } catch (reason) {
    if (reason instanceof RangeError) return undefined; // read beyond the end
    throw reason;
  }
}

function readHeader(view: DataView): Header | undefined {
  const offset = view.getUint32(10, true);
  const size = view.getUint32(14, true);
  const core = size === 12;
  if (!core && size < 40) return undefined;
  const width = core ? view.getUint16(18, true) : view.getInt32(18, true);
  const signedHeight = core ? view.getUint16(20, true) : view.getInt32(22, true);
  const bits = view.getUint16(core ? 24 : 28, true);
  const compression = core ? RGB : view.getUint32(30, true);
  const height = Math.abs(signedHeight);
  if (width <= 0 || height === 0 || width * height > MAX_PIXELS) return undefined;
  if (!isSupported(bits, compression)) return undefined;
  const fields = compression === BITFIELDS || compression === ALPHA_BITFIELDS;
  const masks: Header['masks'] = fields
    ? [view.getUint32(54, true), view.getUint32(58, true), view.getUint32(62, true)]
    : bits === 16
      ? [0x7c00, 0x03e0, 0x001f]
      : [0xff0000, 0x00ff00, 0x0000ff];
  const palette: [number, number, number][] = [];
  if (bits <= 8) {
    const used = core ? 0 : view.getUint32(46, true);
    const colours = Math.min(used || 1 << bits, 1 << bits);
    const stride = core ? 3 : 4;
    for (let i = 0, at = 14 + size; i < colours && at + 3 <= offset; i++, at += stride) {
      palette.push([view.getUint8(at + 2), view.getUint8(at + 1), view.getUint8(at)]);
    }
  }
  return { width, height, topDown: signedHeight < 0, bits, compression, offset, palette, masks };
}

function isSupported(bits: number, compression: number): boolean {
  switch (compression) {
    case RGB:
      return [1, 4, 8, 16, 24, 32].includes(bits);
    case RLE8:
      return bits === 8;
    case RLE4:
      return bits === 4;
    case BITFIELDS:
    case ALPHA_BITFIELDS:
      return bits === 16 || bits === 32;
    default:
      return false;
  }
}

function readRows(view: DataView, header: Header, data: Uint8Array): void {
  const { width, height, bits, offset } = header;
  const stride = ((width * bits + 31) >>> 5) * 4;
  const channels = header.masks.map(channelReader);
  const [red, green, blue] = channels as [ReadChannel, ReadChannel, ReadChannel];
  for (let y = 0; y < height; y++) {
    const row = offset + (header.topDown ? y : height - 1 - y) * stride;
    let out = y * width * 3;
    for (let x = 0; x < width; x++, out += 3) {
      if (bits <= 8) {
        const byte = view.getUint8(row + ((x * bits) >> 3));
        const index = (byte >> (8 - bits - ((x * bits) & 7))) & ((1 << bits) - 1);
        data.set(header.palette[index] ?? [0, 0, 0], out);
      } else if (bits === 24) {
        const at = row + x * 3;
        data[out] = view.getUint8(at + 2);
        data[out + 1] = view.getUint8(at + 1);
        data[out + 2] = view.getUint8(at);
      } else {
        const value = bits === 16 ? view.getUint16(row + x * 2, true) : view.getUint32(row + x * 4, true);
        data[out] = red(value);
        data[out + 1] = green(value);
        data[out + 2] = blue(value);
      }
    }
  }
}

type ReadChannel = (pixel: number) => number;

/** Takes a channel out of a pixel and brings it to 8 bits; short channels are shifted up, as OpenCV does. */
function channelReader(mask: number): ReadChannel {
  if (mask === 0) return () => 0;
  const shift = 31 - Math.clz32(mask & -mask);
  const width = 32 - Math.clz32(mask >>> shift);
  if (width > 8) return (pixel) => ((pixel & mask) >>> shift) >>> (width - 8);
  return (pixel) => (((pixel & mask) >>> shift) << (8 - width)) & 0xff;
}

/** Run-length coded rows: pairs (count, value); a count of 0 escapes to end of line, end, move, or literal pixels. */
function readRuns(view: DataView, header: Header, data: Uint8Array): void {
  const { width, height, compression } = header;
  let at = header.offset;
  let x = 0;
  let y = 0;
  const put = (index: number): void => {
    if (x < width && y < height) {
      const row = header.topDown ? y : height - 1 - y;
      data.set(header.palette[index] ?? [0, 0, 0], (row * width + x) * 3);
    }
    x++;
  };
  const indexOf = (byte: number, k: number): number =>
    compression === RLE8 ? byte : k % 2 === 0 ? byte >> 4 : byte & 15;
  while (y < height) {
    const count = view.getUint8(at++);
    const value = view.getUint8(at++);
    if (count > 0) {
      for (let k = 0; k < count; k++) put(indexOf(value, k));
    } else if (value === 0) {
      x = 0;
      y++;
    } else if (value === 1) {
      return;
    } else if (value === 2) {
      x += view.getUint8(at++);
      y += view.getUint8(at++);
    } else {
      for (let k = 0; k < value; k++) put(indexOf(view.getUint8(at + (compression === RLE8 ? k : k >> 1)), k));
      const bytes = compression === RLE8 ? value : (value + 1) >> 1;
      at += bytes + (bytes & 1); // literals are padded to 16 bits
    }
  }
}
