/**
 * Runs every command and the program that the README shows, in the README's order, as a person would: in one folder,
 * with the server of the tour on the default ports. The commands of npm are what runs this test; they are only checked
 * to exist.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';

const ROOT = path.resolve(import.meta.dirname, '../..');
const readme = readFileSync(path.join(ROOT, 'README.md'), 'utf8');
const PROGRAM = path.join(ROOT, 'dist/readme-program.mjs');
let folder = '';
let server: ChildProcess | undefined;

before(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'triton-readme-'));
  symlinkSync(path.join(ROOT, 'fixtures'), path.join(folder, 'fixtures'));
  const shim = path.join(folder, 'triton');
  writeFileSync(shim, `#!/bin/sh\nexec '${process.execPath}' '${path.join(ROOT, 'bin/triton.js')}' "$@"\n`);
  chmodSync(shim, 0o755);
});

after(async () => {
  if (server?.exitCode === null) {
    const gone = new Promise((resolve) => server?.once('close', resolve));
    server.kill('SIGTERM');
    await gone;
  }
  rmSync(folder, { recursive: true, force: true });
  rmSync(PROGRAM, { force: true });
});

test('every command of the README does what it says', async () => {
  const commands = blocks('sh').flatMap(splitCommands);
  assert.ok(commands.length >= 10, 'the README shows commands');
  for (const command of commands) {
    if (command.startsWith('npm ')) checkScripts(command);
    else if (command.startsWith('triton serve')) await serve(command);
    else {
      const { status, out, complaint } = await shell(command);
      assert.equal(status, 0, `${command}\n${complaint}`);
      assert.notEqual(out.trim(), '', `${command} printed nothing`);
      assert.doesNotMatch(out, /"error"/, command);
    }
  }
  const [program] = blocks('ts');
  writeFileSync(PROGRAM, program ?? '');
  const { status, out, complaint } = await shell(`'${process.execPath}' '${PROGRAM}'`);
  assert.equal(status, 0, complaint);
  assert.match(out, /OUTPUT0/);
});

function blocks(language: string): string[] {
  return [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map((m) => m[1] as string);
}

/** Lines, except that an open quotation goes on over several. */
function splitCommands(block: string): string[] {
  const commands: string[] = [];
  let command = '';
  for (const line of block.split('\n')) {
    command += command === '' ? line : `\n${line}`;
    if ((command.match(/'/g)?.length ?? 0) % 2 === 1) continue;
    const text = command.replace(/\s+#.*$/, '').trim();
    if (text !== '') commands.push(text);
    command = '';
  }
  return commands;
}

function checkScripts(command: string): void {
  const { scripts } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  for (const part of command.split('&&').map((text) => text.trim())) {
    const name = part === 'npm test' ? 'test' : /^npm run (\S+)$/.exec(part)?.[1];
    assert.ok(part === 'npm install' || (name !== undefined && name in scripts), part);
  }
}

async function serve(command: string): Promise<void> {
  const child = start(`exec ${command}`);
  server = child;
  let seen = '';
  await new Promise<void>((resolve, reject) => {
    const look = (text: string): void => {
      seen += text;
      if (/Started Metrics Service at \S*:8002/.test(seen)) resolve();
    };
    child.stdout?.setEncoding('utf8').on('data', look);
    child.stderr?.setEncoding('utf8').on('data', look);
    child.on('close', (status) => reject(new Error(`${command} ended with status ${status}:\n${seen}`)));
  });
  assert.match(seen, /\| densenet_onnx +\| 1 +\| READY +\|/);
}

function shell(command: string): Promise<{ status: number | null; out: string; complaint: string }> {
  const child = start(command);
  let out = '';
  let complaint = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint += text;
  });
  return new Promise((resolve) => child.on('close', (status) => resolve({ status, out, complaint })));
}

function start(command: string): ChildProcess {
  const env = { ...process.env, PATH: `${folder}${path.delimiter}${process.env['PATH']}` };
  return spawn('sh', ['-c', command], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
}
