/** Programs that tests use as peers: taken from the path, installed by the test where that harms nobody, else skipped. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { skipLoudly } from '../machine/skip-loudly.js';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const TOOLS = path.join(ROOT, '.venv', 'tools');

/** Where a program comes from. */
export type ToolSource =
  /** A command of the Go module proxy, `path@version`; built into .venv/tools. */
  | { readonly go: string }
  /** A Debian package; installed only on a machine that is there for tests (CI=true) and lets us. */
  | { readonly debian: string }
  /** A package of npm, `name@version`, too heavy to be a dependency of the project; installed into .venv/tools. */
  | { readonly npm: string };

/**
 * Path of a program. Undefined, after one loud line, when it is not there and cannot be installed; with CI=true that
 * throws.
 */
export function findTool(name: string, source: ToolSource): string | undefined {
  const found = onPath(name) ?? inTools(name) ?? install(name, source);
  if (found !== undefined) return found;
  const from =
    'go' in source
      ? `go install ${source.go}`
      : 'npm' in source
        ? `npm install ${source.npm}`
        : `apt-get install ${source.debian}`;
  skipLoudly(`${name} is not installed (${from}): the tests that need it did not run`);
  return undefined;
}

function install(name: string, source: ToolSource): string | undefined {
  if ('go' in source) return fromGo(name, source.go);
  return 'npm' in source ? fromNpm(name, source.npm) : fromDebian(name, source.debian);
}

/** Installed beside its place and moved there when it is whole. */
function fromNpm(name: string, source: string): string | undefined {
  const place = path.join(TOOLS, source.replace(/\W/g, '-'));
  const program = path.join(place, 'node_modules/.bin', name);
  if (existsSync(program)) return program;
  mkdirSync(TOOLS, { recursive: true });
  const folder = mkdtempSync(`${place}-`);
  try {
    const options = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    if (!run('npm', ['install', '--prefix', folder, ...options, source], {})) return undefined;
    try {
      renameSync(folder, place);
    } catch (reason) {
      if (!existsSync(program)) throw reason; // another test was quicker
    }
    return program;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function onPath(name: string): string | undefined {
  for (const folder of (process.env['PATH'] ?? '').split(path.delimiter)) {
    const file = path.join(folder, name);
    if (folder !== '' && existsSync(file)) return file;
  }
  return undefined;
}

function inTools(name: string): string | undefined {
  const file = path.join(TOOLS, name);
  return existsSync(file) ? file : undefined;
}

function fromGo(name: string, module: string): string | undefined {
  if (onPath('go') === undefined) return undefined;
  mkdirSync(TOOLS, { recursive: true });
  run('go', ['install', module], { GOBIN: TOOLS });
  return inTools(name);
}

function fromDebian(name: string, packageName: string): string | undefined {
  if (process.env['CI'] !== 'true' || process.getuid?.() !== 0 || onPath('apt-get') === undefined) return undefined;
  const options = { DEBIAN_FRONTEND: 'noninteractive' };
  const install = ['install', '-y', '--no-install-recommends', packageName];
  // A fresh machine may have no lists of packages, or old ones. Another test may hold apt's lock: it is waited for.
  const wait = ['-o', 'DPkg::Lock::Timeout=120'];
  if (!run('apt-get', [...wait, ...install], options)) {
    run('apt-get', [...wait, 'update'], options);
    run('apt-get', [...wait, ...install], options);
  }
  return onPath(name);
}

function run(program: string, args: readonly string[], env: Readonly<Record<string, string>>): boolean {
  const result = spawnSync(program, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: 170_000,
  });
  return result.status === 0;
}
