/** Fetches a published model into a repository: downloads, checks, lays out; the model appears complete or not at all. */
import { createHash } from 'node:crypto';
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { TritonError } from '../../base/error.js';
import { makeDirectories } from '../../base/files/make-directories.js';
import { SHIPPED_MODELS } from '../../base/package.js';
import { copyInto, isCode, makeFolderIn, replaceFolderIn } from '../../repository/files/staged-folder.js';
import { folderFiles } from '../folder-files.js';
import { type DownloadOptions, download } from './download.js';
import type { PublishedFile, PublishedModel } from './published-models.js';
import { untar } from './untar.js';

/** How to fetch. */
export interface FetchOptions {
  /** Directory of models; made when it is missing. */
  readonly repository: string;
  /** Whether a model of that name is replaced. The shipped demonstration model always is. */
  readonly replace: boolean;
  /** Address in place of the publishers': files lie there by the last part of their address. */
  readonly mirror?: string | undefined;
  /** Directory of downloads that are under way. */
  readonly cache: string;
  /** Called as bytes of a file arrive. */
  onProgress?(file: PublishedFile, bytes: number): void;
  readonly delaysMs?: DownloadOptions['delaysMs'];
}

/** What was made. */
export interface FetchedModel {
  /** Directory of the model. */
  readonly directory: string;
  /** True when a model of that name was there before. */
  readonly replaced: boolean;
}

/** Directory of downloads under way: in the user's cache, so that an unfinished one never lies in a repository. */
export function defaultCache(): string {
  const base = process.env['XDG_CACHE_HOME'] || path.join(homedir(), '.cache');
  return path.join(base, 'triton', 'downloads');
}

/**
 * Fetches one model. ALREADY_EXISTS when the repository has one of that name; the errors of `download`; Interrupted after a
 * signal. The repository is unchanged after any failure.
 */
export async function fetchModel(model: PublishedModel, options: FetchOptions): Promise<FetchedModel> {
  const directory = path.join(options.repository, model.name);
  const there = await stat(directory).catch(() => undefined);
  if (there !== undefined && !options.replace && !(await isShipped(model.name, directory))) {
    throw new TritonError(
      'ALREADY_EXISTS',
      `'${options.repository}' has '${model.name}' already; --replace puts the published one in its place`,
    );
  }
  const make = there === undefined ? makeFolderIn : replaceFolderIn;
  const parts = model.files.map((file) => partOf(file, options.cache));
  await make(options.repository, model.name, async (staging, signal) => {
    for (const [i, file] of model.files.entries()) {
      const url = options.mirror === undefined ? file.url : mirrored(file.url, options.mirror);
      const { bytes, sha256 } = file;
      const onProgress = (size: number): void => options.onProgress?.(file, size);
      const { delaysMs } = options;
      const how = { signal, onProgress, ...(delaysMs === undefined ? {} : { delaysMs }) };
      await download({ url, bytes, sha256, part: parts[i] as string }, how);
    }
    for (const [i, file] of model.files.entries()) await place(file, parts[i] as string, staging, signal);
    await writeFile(path.join(staging, 'config.pbtxt'), model.config);
  });
  for (const part of parts) await rm(part, { force: true });
  return { directory, replaced: there !== undefined };
}

function partOf(file: PublishedFile, cache: string): string {
  return path.join(cache, `${file.sha256.slice(0, 16)}-${lastPart(file.url)}.part`);
}

function mirrored(url: string, mirror: string): string {
  return `${mirror.replace(/\/+$/, '')}/${lastPart(url)}`;
}

function lastPart(url: string): string {
  return path.posix.basename(new URL(url).pathname);
}

async function place(file: PublishedFile, part: string, staging: string, signal: AbortSignal): Promise<void> {
  if (typeof file.path !== 'string') {
    const places = Object.entries(file.path).map(([member, to]) => [member, path.join(staging, to)] as const);
    await untar(part, new Map(places), signal);
    return;
  }
  const target = path.join(staging, file.path);
  await makeDirectories(path.dirname(target));
  try {
    await rename(part, target);
  } catch (reason) {
    if (!isCode(reason, 'EXDEV')) throw reason;
    await copyInto(part, target, signal);
  }
}

/** True when a directory holds just what was shipped under that name. */
async function isShipped(name: string, directory: string): Promise<boolean> {
  const shipped = path.join(SHIPPED_MODELS, name);
  try {
    const files = await folderFiles(shipped);
    const names = (list: typeof files): string => list.map((file) => file.path).join('\n');
    if (names(files) !== names(await folderFiles(directory))) return false;
    for (const file of files) {
      if ((await digest(path.join(shipped, file.path))) !== (await digest(path.join(directory, file.path))))
        return false;
    }
    return true;
  } catch (reason) {
    if (isCode(reason, 'ENOENT', 'ENOTDIR')) return false;
    throw reason;
  }
}

async function digest(file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(file))
    .digest('hex');
}
