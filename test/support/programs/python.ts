/** Python interpreters for tests: with numpy for the Python backend, with NVIDIA's client library for the wire protocol. */
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { skipLoudly } from '../machine/skip-loudly.js';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

/** How long another test process may take to make the environment, in ms. */
const PATIENCE_MS = 240_000;

/** Longest that a program may take, in ms. */
const PROGRAM_MS = 120_000;

/** What an interpreter has to be able to do, and how one is made that can. */
interface Kind {
  /** Directory in .venv of an environment that a test makes. */
  readonly folder: string;
  /** A program that only a fitting interpreter runs without an error. */
  readonly probe: string;
  readonly packages: readonly string[];
  /** What the loud line says. */
  readonly lack: string;
}

const NUMPY: Kind = {
  folder: 'numpy',
  probe: 'import numpy',
  packages: ['numpy'],
  lack: 'no Python with numpy, and none could be made: the tests of the Python backend did not run',
};
const CLIENTS: Kind = {
  folder: 'clients',
  probe: 'import ml_dtypes, tritonclient.http.aio, tritonclient.grpc.aio, tritonclient.utils.shared_memory',
  packages: ['tritonclient[all]==2.73.0', 'grpcio==1.85.1', 'ml_dtypes'],
  lack: "no Python with NVIDIA's client library, and none could be made: the tests with it did not run",
};

const PLOTTING: Kind = {
  folder: 'plotting',
  probe: 'import matplotlib, pandas, requests',
  packages: ['matplotlib==3.11.2', 'pandas==3.1.1', 'requests==2.34.2'],
  lack: 'no Python with pandas, matplotlib and requests, and none could be made: no report was read with pandas',
};
const PICTURES: Kind = {
  folder: 'pictures',
  probe: 'import cv2, tritonclient.http',
  packages: ['tritonclient[http]==2.73.0', 'opencv-python-headless==5.0.0.93'],
  lack: "no Python with OpenCV and NVIDIA's client library, and none could be made: the pipeline of two models did not run",
};
const GCS_EMULATOR: Kind = {
  folder: 'gcs-emulator',
  probe: 'import gcp_storage_emulator',
  packages: ['gcp-storage-emulator==2026.7.19'],
  lack: 'no Python with gcp-storage-emulator, and none could be made: the tests of gs:// did not run',
};

/**
 * Path of an interpreter that can import numpy: the one of TRITON_PYTHON, of the project's .venv, the system's, or one
 * made in .venv/numpy. Undefined, after one loud line, when there is none and none can be made; with CI=true it throws.
 */
export function pythonWithNumpy(): string | undefined {
  return find(NUMPY);
}

/** The same for NVIDIA's client library with all its transports: tritonclient[all]. */
export function pythonWithClients(): string | undefined {
  return find(CLIENTS);
}

/** The same for what people read and draw reports with: pandas, matplotlib, requests. */
export function pythonWithPlotting(): string | undefined {
  return find(PLOTTING);
}

/** The same for client programs that look at images: OpenCV and tritonclient[http]. */
export function pythonWithPictures(): string | undefined {
  return find(PICTURES);
}

/** The same for the program that stands in for Google Cloud Storage. */
export function pythonWithGcsEmulator(): string | undefined {
  return find(GCS_EMULATOR);
}

function find(kind: Kind): string | undefined {
  const candidates = [
    process.env['TRITON_PYTHON'] ?? '',
    path.join(ROOT, '.venv/bin/python3'),
    interpreterOf(kind),
    'python3',
  ];
  const found = candidates.find((candidate) => candidate !== '' && fits(candidate, kind)) ?? makeEnvironment(kind);
  if (found !== undefined) return found;
  skipLoudly(kind.lack);
  return undefined;
}

function interpreterOf({ folder }: Kind): string {
  return path.join(ROOT, '.venv', folder, 'bin/python3');
}

function fits(python: string, { probe }: Kind): boolean {
  return spawnSync(python, ['-c', probe], { stdio: 'ignore' }).status === 0;
}

function makeEnvironment(kind: Kind): string | undefined {
  const cache = path.join(ROOT, '.venv', kind.folder);
  const python = interpreterOf(kind);
  const lock = `${cache}.lock`;
  mkdirSync(path.dirname(cache), { recursive: true });
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    try {
      mkdirSync(lock);
      break;
    } catch {
      // Another test process makes it.
      if (Date.now() > end) return undefined;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
    }
  }
  try {
    if (existsSync(python) && fits(python, kind)) return python;
    const steps = [
      ['python3', '-m', 'venv', cache],
      [python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...kind.packages],
    ];
    for (const [program = '', ...args] of steps) {
      if (spawnSync(program, args, { stdio: ['ignore', 'ignore', 'inherit'] }).status !== 0) return undefined;
    }
    return python;
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}

/** Runs a Python program to its end and returns what it printed; this process goes on meanwhile. Rejects when it fails. */
export function runPython(python: string, args: readonly string[], cwd?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { encoding: 'utf8', timeout: PROGRAM_MS, ...(cwd === undefined ? {} : { cwd }) } as const;
    execFile(python, ['-B', ...args], options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${args.join(' ')} failed: ${error.message}\n${stdout}${stderr}`));
    });
  });
}
