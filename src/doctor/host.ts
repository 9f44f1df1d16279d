/** The machine as the checks see it: its files below a root, its environment, its programs. */
import { spawn } from 'node:child_process';
import { accessSync, constants, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';

/** Where a check looks; tests give a directory of their own as the root. */
export interface Host {
  /** `/`, or the directory that stands for it. */
  readonly root: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The machine that this process runs on. */
export const thisHost: Host = { root: '/', env: process.env };

/** What a program printed, and how it ended; status -1 = it could not be started or took too long. */
export interface ProgramResult {
  readonly status: number;
  readonly out: string;
  readonly complaint: string;
}

const PROGRAM_LIMIT_MS = 20_000;

/** A path of the machine. */
export function placeOn(host: Host, file: string): string {
  return path.join(host.root, file);
}

/** Text of a file; undefined when it cannot be read. */
export function textOf(host: Host, file: string): string | undefined {
  try {
    return readFileSync(placeOn(host, file), 'utf8');
  } catch {
    return undefined;
  }
}

/** Names in a directory; none when it cannot be listed. */
export function namesIn(host: Host, folder: string): string[] {
  try {
    return readdirSync(placeOn(host, folder)).sort();
  } catch {
    return [];
  }
}

/** The real file behind a path, links followed; undefined when there is none. */
export function realFile(file: string): string | undefined {
  try {
    const real = realpathSync(file);
    return statSync(real).isFile() ? real : undefined;
  } catch {
    return undefined;
  }
}

/** The file of a program: a path as it is, a name by PATH. Undefined when there is none that can be executed. */
export function findProgram(host: Host, name: string): string | undefined {
  const folders = name.includes('/') ? [''] : (host.env['PATH'] ?? '').split(path.delimiter);
  for (const folder of folders) {
    const file = path.resolve(folder, name);
    try {
      accessSync(file, constants.X_OK);
      if (statSync(file).isFile()) return file;
    } catch {
      // the next one
    }
  }
  return undefined;
}

/** Runs a program with the host's environment; never fails. */
export function runProgram(host: Host, file: string, args: readonly string[]): Promise<ProgramResult> {
  return new Promise((resolve) => {
    const child = spawn(file, args, {
      env: { ...host.env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: PROGRAM_LIMIT_MS,
      killSignal: 'SIGKILL',
    });
    let out = '';
    let complaint = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaint += text;
    });
    child.on('error', (error) => resolve({ status: -1, out, complaint: error.message }));
    child.on('close', (status, signal) =>
      resolve({
        status: status ?? -1,
        out,
        complaint: signal === null ? complaint : `ended by ${signal}. ${complaint}`,
      }),
    );
  });
}
