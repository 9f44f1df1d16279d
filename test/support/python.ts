/** A Python with numpy for tests of the Python backend. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const CACHE = path.join(ROOT, '.venv', 'numpy');

/** How long another test process may take to make the environment, in ms. */
const PATIENCE_MS = 240_000;

/**
 * Path of an interpreter that can import numpy: the one of TRITON_PYTHON, of the project's .venv, the system's, or one
 * made in .venv/numpy. Undefined, after one loud line, when there is none and none can be made; with CI=true it throws.
 */
export function pythonWithNumpy(): string | undefined {
  const candidates = [
    process.env['TRITON_PYTHON'] ?? '',
    path.join(ROOT, '.venv/bin/python3'),
    path.join(CACHE, 'bin/python3'),
    'python3',
  ];
  const found = candidates.find((candidate) => candidate !== '' && hasNumpy(candidate)) ?? makeEnvironment();
  if (found !== undefined) return found;
  const text = 'no Python with numpy, and none could be made: the tests of the Python backend did not run';
  if (process.env['CI'] === 'true') throw new Error(text);
  console.error(`\n*** SKIPPED: ${text} ***\n`);
  return undefined;
}

function hasNumpy(python: string): boolean {
  return spawnSync(python, ['-c', 'import numpy'], { stdio: 'ignore' }).status === 0;
}

function makeEnvironment(): string | undefined {
  const python = path.join(CACHE, 'bin/python3');
  const lock = `${CACHE}.lock`;
  mkdirSync(path.dirname(CACHE), { recursive: true });
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
    if (existsSync(python) && hasNumpy(python)) return python;
    const steps = [
      ['python3', '-m', 'venv', CACHE],
      [python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', 'numpy'],
    ];
    for (const [program = '', ...args] of steps) {
      if (spawnSync(program, args, { stdio: ['ignore', 'ignore', 'inherit'] }).status !== 0) return undefined;
    }
    return python;
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}
