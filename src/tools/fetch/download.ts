/** Downloads of files whose size and hash are known: resumed when the connection breaks, checked, never half-believed. */
import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { TritonError } from '../../base/error.js';
import { makeDirectories } from '../../base/files/make-directories.js';
import { httpRequest } from '../../repository/http/http-request.js';
import { innermostText, isLasting, mayPass } from '../../repository/http/network-fault.js';
import { formatOfFile } from '../../repository/load/file-format.js';

/** What to download. */
export interface Download {
  readonly url: string;
  readonly bytes: number;
  readonly sha256: string;
  /** Where the bytes gather; what an earlier attempt left there is used. */
  readonly part: string;
}

/** How to download. */
export interface DownloadOptions {
  readonly signal: AbortSignal;
  /** Called as bytes arrive, with the number there is now. */
  readonly onProgress?: (bytes: number) => void;
  /** Waiting times before each new attempt that follows one without progress, in ms. */
  readonly delaysMs?: readonly number[];
}

/** Publishers redirect to their storage; browsers follow as many. */
const MAX_REDIRECTIONS = 20;

const DELAYS_MS = [500, 1000, 2000, 4000] as const;

/** A failure after which another attempt makes sense; it never leaves this file. */
class Interruption extends Error {}

/**
 * Downloads a file into `part`, whose content then has the size and hash that it should. A connection that breaks is taken
 * up again where it broke. Throws UNAVAILABLE when the address cannot be reached (the part stays, to go on with another
 * time), NOT_FOUND and INVALID_ARG when something else is there (the part is removed), and the system's errors: a part
 * that does not fit on the disk is removed.
 */
export async function download(file: Download, options: DownloadOptions): Promise<void> {
  await makeDirectories(path.dirname(file.part));
  try {
    if (await attempts(file, options)) return;
    // A resumed file that is wrong may be made of two files: once more from the start.
    await rm(file.part, { force: true });
    if (await attempts(file, options)) return;
    throw await notTheFile(file);
  } catch (reason) {
    if (!keepsPart(reason, options.signal)) await rm(file.part, { force: true });
    throw reason;
  }
}

function keepsPart(reason: unknown, signal: AbortSignal): boolean {
  return signal.aborted || (reason instanceof TritonError && reason.code === 'UNAVAILABLE');
}

/** Goes on until the file is whole; false when it is, but has the wrong content although it was resumed. */
async function attempts(file: Download, options: DownloadOptions): Promise<boolean> {
  const delays = options.delaysMs ?? DELAYS_MS;
  const resumed = (await sizeOf(file.part)) > 0;
  for (let failures = 0; ; ) {
    const before = await sizeOf(file.part);
    try {
      await attempt(file, options);
      break;
    } catch (reason) {
      if (options.signal.aborted) throw options.signal.reason;
      if (!(reason instanceof Interruption)) throw reason;
      failures = (await sizeOf(file.part)) > before ? 0 : failures + 1;
      const delay = delays[Math.max(failures - 1, 0)];
      if (delay === undefined || failures > (isLasting(reason) ? 1 : delays.length))
        throw unreachable(file.url, reason);
      await sleep(delay, undefined, { signal: options.signal });
    }
  }
  if ((await hashOf(file.part)) === file.sha256) return true;
  if (resumed) return false;
  throw await notTheFile(file);
}

async function sizeOf(file: string): Promise<number> {
  const found = await stat(file).catch(() => undefined);
  return found?.isFile() ? found.size : 0;
}

async function attempt(file: Download, { signal, onProgress }: DownloadOptions): Promise<void> {
  let start = await sizeOf(file.part);
  if (start === file.bytes && start > 0) return;
  if (start > file.bytes) {
    await rm(file.part, { force: true });
    start = 0;
  }
  const headers: Record<string, string> = { 'accept-encoding': 'identity' };
  if (start > 0) headers['range'] = `bytes=${start}-`;
  const response = await httpRequest(file.url, { signal, headers, redirects: MAX_REDIRECTIONS }).catch((reason) => {
    throw new Interruption(innermostText(reason), { cause: reason });
  });
  if (response.status === 416) {
    response.body.destroy();
    await rm(file.part, { force: true });
    throw new Interruption('the server does not know the rest of the file');
  }
  if (response.status < 200 || response.status > 299) {
    response.body.destroy();
    const text = `${file.url} answers ${response.status} ${response.statusText}`.trimEnd();
    if (mayPass(response.status)) throw new Interruption(text);
    throw new TritonError(response.status === 404 ? 'NOT_FOUND' : 'INVALID_ARG', text);
  }
  const at = response.status === 206 ? rangeStart(response.headers['content-range']) : 0;
  if (at !== start && at !== 0) throw new Interruption(`${file.url} answers with another part of the file`);
  const length = response.headers['content-length'];
  if (length !== undefined && at + Number(length) !== file.bytes) {
    response.body.destroy();
    throw new TritonError(
      'INVALID_ARG',
      `${file.url} has ${at + Number(length)} bytes, not ${file.bytes}: it is not the file that was published`,
    );
  }
  const handle = await open(file.part, at === 0 ? 'w' : 'a');
  try {
    await store(response.body, { handle, start: at }, file, onProgress);
  } finally {
    response.body.destroy();
    await handle.close();
  }
}

async function store(
  body: AsyncIterable<Uint8Array>,
  { handle, start }: { readonly handle: FileHandle; readonly start: number },
  file: Download,
  onProgress: DownloadOptions['onProgress'],
): Promise<void> {
  let size = start;
  const chunks = body[Symbol.asyncIterator]();
  for (;;) {
    // Only what the connection does is a reason to try again; what the disk does is not.
    const next = await chunks.next().catch((reason: unknown) => {
      throw new Interruption(innermostText(reason), { cause: reason });
    });
    if (next.done) break;
    await handle.writeFile(next.value);
    size += next.value.length;
    if (size > file.bytes) {
      throw new TritonError(
        'INVALID_ARG',
        `${file.url} has more than ${file.bytes} bytes: it is not the file that was published`,
      );
    }
    onProgress?.(size);
  }
  if (size < file.bytes) throw new Interruption(`the connection ended after ${size} of ${file.bytes} bytes`);
}

function rangeStart(header: string | undefined): number {
  return Number(/^bytes (\d+)-/.exec(header ?? '')?.[1] ?? Number.NaN);
}

async function hashOf(file: string): Promise<string> {
  const hash: Hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

async function notTheFile(file: Download): Promise<TritonError> {
  const [hash, format] = await Promise.all([hashOf(file.part), formatOfFile(file.part)]);
  const what = format === 'html' ? ' (it is a web page)' : format === 'git-lfs' ? ' (it is a Git LFS pointer)' : '';
  const text = `${file.url} is not the file that was published${what}: its SHA-256 is ${hash}, not ${file.sha256}`;
  return new TritonError('INVALID_ARG', `${text}; nothing was kept`);
}

function unreachable(url: string, reason: Error): TritonError {
  const { host } = new URL(url);
  const proxy =
    process.env['HTTPS_PROXY'] ?? process.env['https_proxy'] ?? process.env['HTTP_PROXY'] ?? process.env['http_proxy'];
  const advice =
    proxy === undefined
      ? 'Is there a network? Behind a proxy, set HTTPS_PROXY (and HTTP_PROXY); a mirror is named with --mirror'
      : `The proxy of the environment was used (${proxy})`;
  return new TritonError(
    'UNAVAILABLE',
    `cannot download from ${host}: ${reason.message}. ${advice}. What has arrived is kept, and the next attempt goes on from there`,
    { cause: reason },
  );
}
