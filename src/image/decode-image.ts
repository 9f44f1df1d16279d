import type { Sharp } from 'sharp';
import { decodeBmp, isBmp } from './decode-bmp.js';
import { type Image, orientImage } from './image.js';
import { endsWithinScan, hasAdobeMarker, isJpeg, readJpegScan } from './jpeg-file.js';
import { rowsOfCutScan } from './jpeg-rows.js';

/** What is read besides BMP. Vector graphics, which sharp would draw, are not images here. */
const FORMATS = new Set(['jpeg', 'png', 'gif', 'webp', 'tiff', 'heif']);

/**
 * Decodes a image file to RGB as OpenCV does: always three channels, alpha dropped (not blended), 16-bit samples cut
 * to their upper byte, turned as its EXIF orientation says, colour profiles ignored; of a JPEG that is cut short within
 * its pixels the last row is repeated. Of an animation the first frame. Resolves with undefined when the bytes are not
 * an image that can be decoded.
 */
export async function decodeImage(file: Uint8Array): Promise<Image | undefined> {
  if (isBmp(file)) return decodeBmp(file);
  if (isJpeg(file) && endsWithinScan(file)) return decodeCutJpeg(file);
  return decodeWhole(file);
}

async function decodeWhole(file: Uint8Array): Promise<Image | undefined> {
  const decoded = await decodeStored(file);
  return decoded && orientImage(decoded.image, decoded.orientation);
}

/** A JPEG without its end: OpenCV decodes sequential ones as far as they go and leaves the last row in its buffer. */
async function decodeCutJpeg(file: Uint8Array): Promise<Image | undefined> {
  const scan = readJpegScan(file);
  if (scan === undefined) return undefined;
  // With an end marker libjpeg delivers all rows, grey from where the data end.
  const decoded = await decodeStored(Buffer.concat([file, Buffer.from([0xff, 0xd9])]));
  if (decoded === undefined) return undefined;
  repeatLastRow(decoded.image, rowsOfCutScan(file, scan));
  return orientImage(decoded.image, decoded.orientation);
}

function repeatLastRow({ width, height, channels, data }: Image, rows: number): void {
  const stride = width * channels;
  for (let y = Math.max(rows, 1); rows > 0 && y < height; y++) {
    data.copyWithin(y * stride, (rows - 1) * stride, rows * stride);
  }
}

/** The pixels as stored, before they are turned. */
async function decodeStored(file: Uint8Array): Promise<{ image: Image; orientation?: number } | undefined> {
  const { default: sharp } = await import('sharp');
  try {
    const open = (): Sharp => sharp(file, { failOn: 'none', ignoreIcc: true, limitInputPixels: false });
    const { format, space, orientation } = await open().metadata();
    if (format === undefined || !FORMATS.has(format)) return undefined;
    const image = space === 'cmyk' ? await decodeCmyk(open(), file) : await decodeRgb(open());
    return { image, ...(orientation === undefined ? {} : { orientation }) };
  } catch {
    // libvips' own words (many lines of them) do not help: the caller names the file.
    return undefined;
  }
}

async function decodeRgb(image: Sharp): Promise<Image> {
  const { data, info } = await image
    .removeAlpha()
    .toColourspace('srgb')
    .raw({ depth: 'uchar' })
    .toBuffer({ resolveWithObject: true });
  if (info.channels === 3) return { width: info.width, height: info.height, channels: 3, data };
  const rgb = new Uint8Array(info.width * info.height * 3);
  for (let i = 0, o = 0; o < rgb.length; i += info.channels) {
    const grey = data[i] as number;
    rgb[o++] = grey;
    rgb[o++] = grey;
    rgb[o++] = grey;
  }
  return { width: info.width, height: info.height, channels: 3, data: rgb };
}

/** CMYK by OpenCV's formula on the stored values: channel = k - (((255 - c) * k) >> 8). */
async function decodeCmyk(image: Sharp, file: Uint8Array): Promise<Image> {
  const { data, info } = await image
    .pipelineColourspace('cmyk')
    .toColourspace('cmyk')
    .raw({ depth: 'uchar' })
    .toBuffer({ resolveWithObject: true });
  // libvips inverts the samples of files with Adobe's marker, in which they are stored inverted.
  const flip = hasAdobeMarker(file) ? 255 : 0;
  const rgb = new Uint8Array(info.width * info.height * 3);
  for (let i = 0, o = 0; o < rgb.length; i += info.channels) {
    const k = (data[i + 3] as number) ^ flip;
    for (let c = 0; c < 3; c++) rgb[o++] = k - (((255 - ((data[i + c] as number) ^ flip)) * k) >> 8);
  }
  return { width: info.width, height: info.height, channels: 3, data: rgb };
}
