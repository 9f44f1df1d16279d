/** Fetches the objects below a prefix as files. */
import { createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { TritonError } from '../../base/error.js';
import { makeDirectories } from '../../base/files/make-directories.js';
import { innermostText } from '../http/network-fault.js';
import type { ObjectStore, StoredObject } from './common/object-store.js';

/** Objects fetched at once. */
const CONCURRENCY = 4;
/** Attempts for an object whose transfer breaks off. */
const ATTEMPTS = 3;

/**
 * Writes the objects, whose keys begin with `prefix`, into `folder`. Rejects with the store's errors, and for keys that
 * cannot be paths of files.
 */
export async function fetchObjects(
  store: ObjectStore,
  prefix: string,
  objects: readonly StoredObject[],
  folder: string,
): Promise<void> {
  let next = 0;
  let failed = false;
  const worker = async (): Promise<void> => {
    while (next < objects.length && !failed) {
      const object = objects[next++] as StoredObject;
      try {
        await fetchOne(store, object, targetOf(object.key, prefix, folder));
      } catch (reason) {
        failed = true;
        throw reason;
      }
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: CONCURRENCY }, worker));
  for (const each of ended) if (each.status === 'rejected') throw each.reason;
}

/** A key that leads out of the directory would write somewhere else. */
function targetOf(key: string, prefix: string, folder: string): string {
  const relative = key.slice(prefix.length);
  const segments = relative.replace(/\/$/, '').split('/');
  if (relative.includes('\0') || segments.some((each) => each === '..' || each === '.' || each === '')) {
    throw new TritonError('INTERNAL', `the object '${key}' cannot be fetched: its name is not the path of a file`);
  }
  return path.join(folder, ...segments) + (relative.endsWith('/') ? '/' : '');
}

async function fetchOne(store: ObjectStore, object: StoredObject, target: string): Promise<void> {
  if (target.endsWith('/')) {
    await makeDirectories(target);
    return;
  }
  await makeDirectories(path.dirname(target));
  for (let attempt = 1; ; attempt++) {
    const body = await store.read(object);
    try {
      await pipeline(body, createWriteStream(target));
      const { size } = await stat(target);
      if (size === object.size) return;
      throw new Error(`${size} bytes came instead of ${object.size}`);
    } catch (cause) {
      const isSystem = (cause as NodeJS.ErrnoException).syscall === 'write';
      if (attempt < ATTEMPTS && !isSystem) continue;
      throw new TritonError('INTERNAL', `Failed to fetch '${object.key}': ${innermostText(cause)}`, { cause });
    }
  }
}
