import path from 'node:path';

/** Where Linux keeps the objects that `shm_open` names. */
const FOLDER = '/dev/shm';
/** Longest file name. */
const MAX_NAME_BYTES = 255;

/** A key without its leading slashes, which do not count. */
export function sharedMemoryName(key: string): string {
  return key.replace(/^\/+/, '');
}

/**
 * The file of a shared memory object, by the rules of `shm_open`; undefined for keys that name none: empty ones, and those
 * with a slash inside, which would lead out of the directory.
 */
export function sharedMemoryPath(key: string): string | undefined {
  const name = sharedMemoryName(key);
  if (name === '' || name === '.' || name === '..' || /[/\0]/.test(name)) return undefined;
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) return undefined;
  return path.join(FOLDER, name);
}
