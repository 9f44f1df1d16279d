import { readdir, readFile, stat } from 'node:fs/promises';
import { systemText } from '../base/files/system-text.js';
import { decodePicture } from './decode-picture.js';
import { ImageClientFailure } from './failure.js';
import type { Picture } from './picture.js';

/** Path of a picture, in the bytes of the file system: names need not be UTF-8. */
export type PicturePath = Buffer;

/**
 * The picture files that an argument means: itself, or every entry of a folder sorted by its bytes. Throws when there
 * is no such file, or nothing in the folder.
 */
export async function listPictures(path: string): Promise<PicturePath[]> {
  let isFolder: boolean;
  try {
    isFolder = (await stat(path)).isDirectory();
  } catch (reason) {
    throw new ImageClientFailure(`Failed to find '${path}': ${systemText(reason)}`);
  }
  if (!isFolder) return [Buffer.from(path)];
  const entries = await readdir(path, { encoding: 'buffer' });
  if (entries.length === 0) throw new ImageClientFailure(`error: no image in folder '${path}': it is empty`);
  return entries.map((entry) => Buffer.concat([Buffer.from(`${path}/`), entry])).sort(Buffer.compare);
}

/** Reads and decodes one picture. Throws when it cannot be read or is none. */
export async function readPicture(path: PicturePath): Promise<Picture> {
  let file: Buffer;
  try {
    file = await readFile(path);
  } catch (reason) {
    throw new ImageClientFailure(`error: unable to read image file ${path} (${systemText(reason)})`);
  }
  if (file.length === 0) throw new ImageClientFailure(`error: unable to read image file ${path} (it is empty)`);
  const picture = await decodePicture(file);
  if (picture === undefined) throw new ImageClientFailure(`error: unable to decode image ${path}`);
  return picture;
}
