/**
 * Compares the program with recordings of NVIDIA's server, through the runners that lie beside them, and with the lists of
 * cases that are expected to pass (expected/KIND.txt; they only grow).
 *
 *   npm run conformance                 everything but the slow kinds
 *   npm run conformance -- --all        everything
 *   npm run conformance -- --update     adds what passes to the lists
 *   npm run conformance -- --only KIND  kinds whose name contains the text
 *
 * The recordings are looked for in $TRITON_RECORDINGS, else in ../shared/recordings beside the project. The runners are
 * Python: a virtual environment is made in .venv on the first run.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { freePorts } from '../support/machine/free-port.js';
import { temporaryDirectory } from '../support/machine/temporary-directory.js';
import { TRITON } from '../support/programs/run-triton.js';
import { KINDS, type Kind, type Places, type Verdicts } from './kinds.js';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const EXPECTED = path.join(ROOT, 'test/conformance/expected');
const REQUIREMENTS = path.join(ROOT, 'test/conformance/requirements.txt');
/** Runs of one kind when an expected case failed: a case may depend on timing. */
const ATTEMPTS = 2;

const { values: options } = parseArgs({
  options: {
    all: { type: 'boolean', default: false },
    update: { type: 'boolean', default: false },
    only: { type: 'string' },
    verbose: { type: 'boolean', short: 'v', default: false },
  },
});

process.exitCode = await main();

async function main(): Promise<number> {
  const recordings = process.env['TRITON_RECORDINGS'] ?? path.join(ROOT, '../shared/recordings');
  if (!existsSync(recordings)) {
    console.error(
      `conformance: SKIPPED: the recorded responses of NVIDIA's server are not part of this project and not at ${recordings}; TRITON_RECORDINGS names their directory`,
    );
    return process.env['CI'] === 'true' ? 1 : 0;
  }
  const kinds = KINDS.filter((k) => (options.all || !k.slow || options.only) && k.name.includes(options.only ?? ''));
  if (kinds.length === 0) {
    console.error(`conformance: no kind is called '${options.only}'; there are ${KINDS.map((k) => k.name).join(', ')}`);
    return 2;
  }
  const python = virtualEnvironment();
  let passed = 0;
  const broken: string[] = [];
  for (const kind of kinds) {
    const verdicts = await runUntilExpected(kind, python, path.resolve(recordings));
    passed += [...verdicts.values()].filter((verdict) => verdict === 'passed').length;
    broken.push(...report(kind, verdicts).map((name) => `${kind.name}: ${name}`));
  }
  if (broken.length > 0) console.log(`\nexpected to pass, but did not:\n  ${broken.join('\n  ')}`);
  console.log(`${passed} passed, ${broken.length} failed`);
  return broken.length > 0 || passed === 0 ? 1 : 0;
}

/** Prints one line about a kind, updates its list if asked to, and returns the expected cases that did not pass. */
function report(kind: Kind, verdicts: Verdicts): string[] {
  const expected = expectedOf(kind);
  const good = [...verdicts].filter(([, verdict]) => verdict === 'passed').map(([name]) => name);
  const fresh = good.filter((name) => !expected.has(name));
  const missing = missingOf(expected, verdicts);
  console.log(
    `${kind.name}: ${good.length} of ${verdicts.size} pass; ${expected.size} expected, ${missing.length} of those fail` +
      (fresh.length > 0
        ? `; ${fresh.length} not in the list yet${options.update ? ', added' : ' (--update adds them)'}`
        : ''),
  );
  if (options.verbose) {
    for (const [name, verdict] of verdicts) if (verdict !== 'passed') console.log(`  ${verdict}: ${name}`);
  }
  if (options.update && fresh.length > 0) {
    mkdirSync(EXPECTED, { recursive: true });
    writeFileSync(listFile(kind), `${[...new Set([...expected, ...good])].sort().join('\n')}\n`);
  }
  return missing;
}

async function runUntilExpected(kind: Kind, python: string, recordings: string): Promise<Verdicts> {
  const expected = expectedOf(kind);
  const best = new Map<string, 'passed' | 'failed' | 'skipped'>();
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    for (const [name, verdict] of await run(kind, python, recordings)) {
      if (best.get(name) !== 'passed') best.set(name, verdict);
    }
    if (missingOf(expected, best).length === 0) break;
  }
  return best;
}

async function run(kind: Kind, python: string, recordings: string): Promise<Verdicts> {
  const directory = temporaryDirectory();
  try {
    const triton = `'${process.execPath}' '${TRITON}'`;
    const places: Places = { recordings, triton, json: directory.file('result.json'), ports: await freePorts(3) };
    const output = await runProgram(python, kind.arguments(places));
    if (options.verbose) console.log(output);
    try {
      return kind.read(places, output);
    } catch (reason) {
      throw new Error(`the runner of ${kind.name} left no result (${reason}); it printed:\n${output}`);
    }
  } finally {
    directory.remove();
  }
}

function runProgram(program: string, args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    // The Python of the runners has numpy, which Python models need.
    const env = { ...process.env, TRITON_PYTHON: program };
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    child.on('error', reject);
    child.on('close', () => resolve(output));
  });
}

/** The Python of `.venv`, made and filled when it is not there or its requirements changed. */
function virtualEnvironment(): string {
  const folder = path.join(ROOT, '.venv');
  const python = path.join(folder, 'bin/python');
  const marker = path.join(folder, 'requirements.txt');
  const wanted = readFileSync(REQUIREMENTS, 'utf8');
  if (existsSync(marker) && readFileSync(marker, 'utf8') === wanted) return python;
  console.log('conformance: making a Python virtual environment in .venv');
  must('python3', ['-m', 'venv', folder]);
  must(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', REQUIREMENTS]);
  writeFileSync(marker, wanted);
  return python;
}

function must(program: string, args: string[]): void {
  const { status, error } = spawnSync(program, args, { stdio: 'inherit' });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed${error ? `: ${error.message}` : ''}`);
}

function listFile(kind: Kind): string {
  return path.join(EXPECTED, `${kind.name}.txt`);
}

function expectedOf(kind: Kind): ReadonlySet<string> {
  const file = listFile(kind);
  return new Set(existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []);
}

function missingOf(expected: ReadonlySet<string>, verdicts: Verdicts): string[] {
  return [...expected].filter((name) => verdicts.get(name) !== 'passed');
}
