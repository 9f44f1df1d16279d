/** Does what a page says, as a reader would: in one directory, with one server at a time, but on free ports. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { freePort } from '../support/machine/free-port.js';
import { temporaryDirectory } from '../support/machine/temporary-directory.js';
import { TRITON } from '../support/programs/run-triton.js';
import type { Step } from './page.js';

const ROOT = path.resolve(import.meta.dirname, '../../..');
/** A command that takes longer is cut. */
const LIMIT_MS = 90_000;
const PORTS = { http: 8000, grpc: 8001, metrics: 8002 } as const;

/** What a command left behind. */
interface Ended {
  readonly status: number | null;
  readonly out: string;
  readonly complaint: string;
}

/** One page being followed. */
export class PageSession {
  /** The reader's working directory: empty but for `fixtures` and `dist`. */
  readonly #directory = temporaryDirectory();
  readonly folder = this.#directory.path;
  /** Programs must lie inside the package, so that they can import it by its name. */
  readonly #program = path.join(ROOT, `dist/docs-program-${process.pid}.mjs`);
  /** Free ports by the port that the page names. */
  readonly #ports = new Map<string, number>();
  #server: ChildProcess | undefined;

  constructor() {
    for (const name of ['fixtures', 'dist']) symlinkSync(path.join(ROOT, name), path.join(this.folder, name));
    const shim = path.join(this.folder, 'triton');
    writeFileSync(shim, `#!/bin/sh\nexec '${process.execPath}' '${TRITON}' "$@"\n`);
    chmodSync(shim, 0o755);
  }

  /** Does one step; fails when it does not end as the page promises. */
  async follow({ kind, text, status }: Step): Promise<void> {
    if (kind === 'npm') checkScripts(text);
    else if (kind === 'serve') await this.#serve(await this.#relocated(text));
    else if (kind === 'program') {
      writeFileSync(this.#program, await this.#relocated(text));
      check(await this.#shell(`'${process.execPath}' '${this.#program}'`), text, 0);
    } else check(await this.#shell(await this.#relocated(text)), text, status);
  }

  /** Ends the server and removes the directory. */
  async end(): Promise<void> {
    await this.#stopServer();
    this.#directory.remove();
    rmSync(this.#program, { force: true });
  }

  /** Free ports in place of those that the page names and of the defaults. */
  async #relocated(text: string): Promise<string> {
    let result = text.replace(/ +# exit status \d+\s*$/, '');
    if (/^(?:\w+=\S+ +)*triton serve\b/.test(text)) {
      for (const [name, port] of Object.entries(PORTS)) {
        if (!text.includes(`--${name}-port`)) result += ` --${name}-port ${port}`;
      }
    } else if (/^triton (perf|image-client)\b/.test(text) && !/ -u\b| --help\b/.test(text)) {
      result += ` -u localhost:${/ -i grpc\b/i.test(text) ? PORTS.grpc : PORTS.http}`;
    }
    const named = /(localhost:|127\.0\.0\.1:|-port[ =])(\d{4,5})\b/g;
    for (const [, , port = ''] of result.matchAll(named)) {
      if (!this.#ports.has(port)) this.#ports.set(port, await freePort());
    }
    return result.replace(named, (_, before: string, port: string) => `${before}${this.#ports.get(port)}`);
  }

  async #serve(command: string): Promise<void> {
    await this.#stopServer();
    const child = this.#start(`exec env ${command}`);
    this.#server = child;
    const limit = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
    let seen = '';
    await new Promise<void>((resolve, reject) => {
      const look = (text: string): void => {
        seen += text;
        if (seen.includes('Started Metrics Service')) resolve();
      };
      child.stdout?.setEncoding('utf8').on('data', look);
      child.stderr?.setEncoding('utf8').on('data', look);
      child.on('close', (status) => reject(new Error(`${command} ended with status ${status}:\n${seen}`)));
    }).finally(() => clearTimeout(limit));
  }

  async #stopServer(): Promise<void> {
    const child = this.#server;
    this.#server = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once('close', resolve));
    child.kill('SIGTERM');
    await gone;
  }

  #shell(command: string): Promise<Ended> {
    const child = this.#start(command);
    let out = '';
    let complaint = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      complaint += text;
    });
    const limit = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
    return new Promise((resolve) =>
      child.on('close', (status) => {
        clearTimeout(limit);
        resolve({ status, out, complaint });
      }),
    );
  }

  #start(command: string): ChildProcess {
    const env: NodeJS.ProcessEnv = {
      ...process.env,
      PATH: `${this.folder}${path.delimiter}${process.env['PATH']}`,
    };
    // Node runs no tests inside of its own tests: a page that shows `node --test` starts a run of its own.
    delete env['NODE_TEST_CONTEXT'];
    return spawn('sh', ['-c', command], { cwd: this.folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  }
}

function check({ status, out, complaint }: Ended, text: string, promised: number): void {
  assert.equal(status, promised, `${text}\nended with status ${status}:\n${out}${complaint}`);
  if (promised !== 0) assert.notEqual(`${out}${complaint}`.trim(), '', `${text} failed without a word`);
  else assert.doesNotMatch(out, /^\{"error"/m, `${text} was answered with an error`);
}

/** npm's own commands run this very test: they are only checked to exist, and words that choose tests to match some. */
function checkScripts(command: string): void {
  const { scripts } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  for (const part of command.replace(/\s+#.*$/, '').split('&&')) {
    const words = part
      .trim()
      .replace(/^(?:\w+=\S+ +)*/, '')
      .split(/\s+/);
    const script = words[1] === 'run' ? words[2] : words[1];
    const known = script === 'install' || script === 'link' || script === 'rebuild' || (script ?? '') in scripts;
    assert.ok(known, `there is no script for '${part.trim()}'`);
    if (script === 'test')
      for (const word of words.slice(3)) assert.ok(hasTest(word), `no test file matches '${word}'`);
  }
}

/** True when the path of some test file contains the word, as scripts/test.js looks for it. */
function hasTest(word: string): boolean {
  return readdirSync(path.join(ROOT, 'dist'), { recursive: true, encoding: 'utf8' }).some(
    (file) => file.endsWith('.test.js') && file.includes(word),
  );
}
