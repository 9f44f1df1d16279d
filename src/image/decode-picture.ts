import type { Sharp } from 'sharp';
import { decodeBmp, isBmp } from './decode-bmp.js';
import type { Picture } from './picture.js';

/** What is read besides BMP. Vector graphics, which sharp would draw, are no pictures here. */
const FORMATS = new Set(['jpeg', 'png', 'gif', 'webp', 'tiff', 'heif']);

/**
 * Decodes a picture file to RGB as OpenCV does: always three channels, alpha dropped (not blended), 16-bit samples cut
 * to their upper byte, turned as its EXIF orientation says, colour profiles ignored. Of an animation the first frame.
 * Resolves with undefined when the bytes are no picture that can be decoded.
 */
export async function decodePicture(file: Uint8Array): Promise<Picture | undefined> {
  if (isBmp(file)) return decodeBmp(file);
  const { default: sharp } = await import('sharp');
  try {
    const source = closedJpeg(file);
    const open = (): Sharp => sharp(source, { failOn: 'none', ignoreIcc: true, limitInputPixels: false });
    const { format, space } = await open().metadata();
    if (format === undefined || !FORMATS.has(format)) return undefined;
    return space === 'cmyk' ? await decodeCmyk(open(), file) : await decodeRgb(open());
  } catch {
    // libvips' own words (many lines of them) help nobody: the caller names the file.
    return undefined;
  }
}

async function decodeRgb(picture: Sharp): Promise<Picture> {
  const { data, info } = await picture
    .autoOrient()
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
async function decodeCmyk(picture: Sharp, file: Uint8Array): Promise<Picture> {
  const { data, info } = await picture
    .pipelineColourspace('cmyk')
    .autoOrient()
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

/** Bytes of a JPEG's segments, marker by marker, up to the picture data. */
function* jpegSegments(file: Uint8Array): Generator<{ marker: number; start: number; end: number }> {
  for (let at = 2; at + 4 <= file.length && file[at] === 0xff; ) {
    const marker = file[at + 1] as number;
    if (marker === 0xff) {
      at++; // fill byte
      continue;
    }
    const end = at + 2 + ((file[at + 2] as number) << 8) + (file[at + 3] as number);
    yield { marker, start: at + 4, end };
    if (marker === 0xda) return;
    at = end;
  }
}

function hasAdobeMarker(file: Uint8Array): boolean {
  for (const { marker, start } of jpegSegments(file)) {
    if (marker === 0xee && Buffer.from(file.subarray(start, start + 5)).toString('latin1') === 'Adobe') return true;
  }
  return false;
}

/**
 * A JPEG that is cut short within its picture data gets an end marker: the decoder then fills the rest with grey, as
 * OpenCV's does, where a missing end would leave it unset. Everything else is returned as it is.
 */
function closedJpeg(file: Uint8Array): Uint8Array {
  if (file[0] !== 0xff || file[1] !== 0xd8) return file;
  if (file.at(-2) === 0xff && file.at(-1) === 0xd9) return file;
  for (const { marker, end } of jpegSegments(file)) {
    if (marker === 0xda && end <= file.length) return Buffer.concat([file, Buffer.from([0xff, 0xd9])]);
  }
  return file;
}
