/** What a file really is, by its first bytes; and whether a file of a known format is whole. */
import type { FileHandle } from 'node:fs/promises';
import { openRegularFile } from '../../base/files/read-regular-file.js';

/** Formats that are recognised. */
export type FileFormat = 'git-lfs' | 'html' | 'zip' | 'gzip' | 'tar' | 'hdf5' | 'tensorrt' | 'pickle' | 'xml' | 'json';

/** Words for a format, as in `it is a web page`. */
export const FORMAT_WORDS: Readonly<Record<FileFormat, string>> = {
  'git-lfs': 'a Git LFS pointer',
  html: 'a web page: the download went wrong',
  zip: 'a zip archive',
  gzip: 'a gzip archive',
  tar: 'a tar archive',
  hdf5: 'an HDF5 file, as Keras writes it',
  tensorrt: 'a TensorRT plan',
  pickle: 'a Python pickle',
  xml: 'an XML file',
  json: 'a JSON text',
};

const HEAD_BYTES = 512;

/** The format of a file as its first bytes show it; undefined for formats without a mark, such as protobuf's. */
export async function formatOf(file: FileHandle): Promise<FileFormat | undefined> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
  const head = buffer.subarray(0, bytesRead);
  const text = head.toString('latin1');
  if (text.startsWith('version https://git-lfs.github.com/spec/')) return 'git-lfs';
  if (/^\s*<(?:!doctype html|html|head|body)\b/i.test(text)) return 'html';
  if (text.startsWith('PK\x03\x04') || text.startsWith('PK\x05\x06')) return 'zip';
  if (text.startsWith('\x1f\x8b')) return 'gzip';
  if (text.slice(257, 262) === 'ustar') return 'tar';
  if (text.startsWith('\x89HDF\r\n')) return 'hdf5';
  if (text.startsWith('ftrt') || text.startsWith('ptrt')) return 'tensorrt';
  // The opcode PROTO and the protocol's number, 2 to 5.
  if (head[0] === 0x80 && (head[1] ?? 0) >= 2 && (head[1] ?? 0) <= 5) return 'pickle';
  if (/^(?:\xef\xbb\xbf)?\s*<(?:\?xml|net\b)/.test(text)) return 'xml';
  if (/^\s*\{\s*"/.test(text)) return 'json';
  return undefined;
}

/** The same for a path. */
export async function formatOfFile(path: string): Promise<FileFormat | undefined> {
  const file = await openRegularFile(path);
  try {
    return await formatOf(file);
  } finally {
    await file.close();
  }
}

const END_OF_DIRECTORY = 22;
const LONGEST_COMMENT = 65_535;
const DIRECTORY_LIMIT = 64 * 2 ** 20;

/** Names of the files in a zip archive; undefined when its directory, which stands at the end, is not there. */
export async function zipEntries(path: string): Promise<readonly string[] | undefined> {
  const file = await openRegularFile(path);
  try {
    const { size } = await file.stat();
    const length = Math.min(size, END_OF_DIRECTORY + LONGEST_COMMENT);
    const tail = (await file.read(Buffer.alloc(length), 0, length, size - length)).buffer;
    const at = tail.lastIndexOf('PK\x05\x06', undefined, 'latin1');
    if (at < 0 || at + END_OF_DIRECTORY > tail.length) return undefined;
    const directorySize = tail.readUInt32LE(at + 12);
    const offset = tail.readUInt32LE(at + 16);
    // Archives of 4 GiB and more keep the real numbers elsewhere; their names are not looked at.
    if (offset === 0xffffffff || directorySize > DIRECTORY_LIMIT) return [];
    if (offset + directorySize > size) return undefined;
    const directory = (await file.read(Buffer.alloc(directorySize), 0, directorySize, offset)).buffer;
    return namesIn(directory);
  } finally {
    await file.close();
  }
}

function namesIn(directory: Buffer): string[] {
  const names: string[] = [];
  for (let at = 0; at + 46 <= directory.length && directory.readUInt32LE(at) === 0x02014b50; ) {
    const length = directory.readUInt16LE(at + 28);
    names.push(directory.toString('utf8', at + 46, at + 46 + length));
    at += 46 + length + directory.readUInt16LE(at + 30) + directory.readUInt16LE(at + 32);
  }
  return names;
}
