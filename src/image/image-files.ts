import { readdir, readFile, stat } from 'node:fs/promises';
import { systemText } from '../base/files/system-text.js';
import { decodeImage } from './decode-image.js';
import { ImageClientFailure } from './failure.js';
import type { Image } from './image.js';

/** Path of a image, in the bytes of the file system: names need not be UTF-8. */
export type ImagePath = Buffer;

/**
 * The image files that an argument means: itself, or every entry of a directory, sorted by the bytes of their names. Throws when
 * there is no such file, or nothing in the directory.
 */
export async function listImages(path: string): Promise<ImagePath[]> {
  let isDirectory: boolean;
  try {
    isDirectory = (await stat(path)).isDirectory();
  } catch (reason) {
    throw new ImageClientFailure(`Failed to find '${path}': ${systemText(reason)}`);
  }
  if (!isDirectory) return [Buffer.from(path)];
  const entries = await readdir(path, { encoding: 'buffer' });
  if (entries.length === 0) throw new ImageClientFailure(`error: no image in folder '${path}': it is empty`);
  return entries.map((entry) => Buffer.concat([Buffer.from(`${path}/`), entry])).sort(Buffer.compare);
}

/** Reads and decodes one image. Throws when it cannot be read or is not an image. */
export async function readImage(path: ImagePath): Promise<Image> {
  let file: Buffer;
  try {
    file = await readFile(path);
  } catch (reason) {
    throw new ImageClientFailure(`error: unable to read image file ${path} (${systemText(reason)})`);
  }
  if (file.length === 0) throw new ImageClientFailure(`error: unable to read image file ${path} (it is empty)`);
  const image = await decodeImage(file);
  if (image === undefined) throw new ImageClientFailure(`error: unable to decode image ${path}`);
  return image;
}
