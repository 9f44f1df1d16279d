import { spawn } from 'node:child_process';
import { readdirSync, realpathSync, rmSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { TritonError } from '../../../base/error.js';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../../../base/files/temporary-directory.js';

const PREFIX = 'triton-python-env-';

/** Archives unpacked by this process: path, size and modification time -> directory. */
const unpacked = new Map<string, Promise<string>>();

/** The directory of an execution environment: the path itself, or where the archive at the path was unpacked. */
export async function prepareEnvironment(location: string): Promise<string> {
  let file: string;
  try {
    file = realpathSync(location);
  } catch {
    throw new TritonError('INTERNAL', `Failed to get the canonical path for ${location}.`);
  }
  const status = statSync(file);
  if (status.isDirectory()) return file;
  const key = `${file}\n${status.size}\n${status.mtimeMs}`;
  let folder = unpacked.get(key);
  if (folder === undefined) {
    folder = unpack(file);
    unpacked.set(key, folder);
    folder.catch(() => unpacked.delete(key));
  }
  return await folder;
}

async function unpack(file: string): Promise<string> {
  if (unpacked.size === 0) sweep();
  const folder = makeTemporaryDirectory(`${PREFIX}${process.pid}-`);
  const tar = spawn('tar', ['-xf', file, '-C', folder], { stdio: ['ignore', 'ignore', 'pipe'] });
  let text = '';
  tar.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).slice(-2000);
  });
  const status = await new Promise<number | string>((resolve) => {
    tar.on('error', (error) => resolve(error.message));
    tar.on('close', (code) => resolve(code ?? 'killed'));
  });
  if (status !== 0) {
    await removeTemporaryDirectory(folder);
    throw new TritonError('INTERNAL', `Failed to unpack the Python environment ${file}: ${text.trim() || status}`);
  }
  return folder;
}

/** Removes what servers left behind that were killed. */
function sweep(): void {
  for (const name of readdirSync(os.tmpdir())) {
    const pid = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1];
    if (pid === undefined || isAlive(Number(pid))) continue;
    rmSync(path.join(os.tmpdir(), name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (reason) {
    return (reason as NodeJS.ErrnoException).code === 'EPERM';
  }
}
