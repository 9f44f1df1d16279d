/** Python interpreters for tests: with numpy for the Python backend, with NVIDIA's client library for the wire protocol. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { skipLoudly } from '../machine/skip-loudly.js';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

/** How long another test process may take to make the environment, in ms. */
const PATIENCE_MS = 240_000;

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
