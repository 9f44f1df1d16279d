import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { makeFolder, makeFolderIn } from './staged-folder.js';

const root = mkdtempSync(join(tmpdir(), 'staged-'));
after(() => rmSync(root, { recursive: true }));

const fill = async (staging: string): Promise<void> => writeFileSync(join(staging, 'a'), 'text');
const fail = async (staging: string): Promise<void> => {
  writeFileSync(join(staging, 'a'), 'text');
  throw new Error('no more');
};
const fresh = (): string => mkdtempSync(join(root, 'case-'));

describe('makeFolder', () => {
  test('makes a folder and its parents, with ordinary permissions', async () => {
    const home = fresh();
    await makeFolder(join(home, 'b', 'c'), fill);
    assert.deepEqual(readdirSync(join(home, 'b')), ['c']);
    assert.deepEqual(readdirSync(join(home, 'b', 'c')), ['a']);
    mkdirSync(join(home, 'plain'));
    assert.equal(statSync(join(home, 'b', 'c')).mode, statSync(join(home, 'plain')).mode);
  });

  test('fills an empty folder in place', async () => {
    const home = fresh();
    const { ino } = statSync(home);
    await makeFolder(home, fill);
    assert.deepEqual(readdirSync(home), ['a']);
    assert.equal(statSync(home).ino, ino);
  });

  test('leaves nothing after a failure, made parents included', async () => {
    const home = fresh();
    await assert.rejects(makeFolder(join(home, 'b', 'c'), fail), /no more/);
    await assert.rejects(makeFolder(home, fail), /no more/);
    assert.deepEqual(readdirSync(home), []);
  });

  test('does not replace a folder that appeared meanwhile', async () => {
    const home = fresh();
    const target = join(home, 'b');
    const racing = async (staging: string): Promise<void> => {
      await fill(staging);
      mkdirSync(target);
      writeFileSync(join(target, 'theirs'), '');
    };
    await assert.rejects(makeFolder(target, racing), { code: 'ENOTEMPTY' });
    assert.deepEqual(readdirSync(home), ['b']);
    assert.deepEqual(readdirSync(target), ['theirs']);
  });

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    test(`leaves nothing after ${signal}`, async () => {
      const home = fresh();
      const script = `
        import { makeFolder } from ${JSON.stringify(new URL('./staged-folder.js', import.meta.url).href)};
        import { writeFileSync } from 'node:fs';
        await makeFolder(process.argv[1], async (staging, signal) => {
          writeFileSync(staging + '/a', 'text');
          process.stdout.write('begun');
          const alive = setInterval(() => {}, 1000);
          await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
          clearInterval(alive);
        }).catch((reason) => { process.stdout.write(' ' + reason.message); process.exit(3); });`;
      const child = spawn(process.execPath, ['--input-type=module', '-e', script, join(home, 'b', 'c')]);
      let output = '';
      child.stdout.on('data', (chunk) => {
        if (output === '') child.kill(signal);
        output += chunk;
      });
      const status = await new Promise((done) => child.on('close', done));
      assert.equal(output, `begun interrupted by ${signal}; nothing was made`);
      assert.equal(status, 3);
      assert.deepEqual(readdirSync(home), []);
    });
  }
});

describe('makeFolderIn', () => {
  test('stages beside the parent, or inside it where that cannot be written', async () => {
    const home = fresh();
    const parent = join(home, 'parent');
    mkdirSync(parent);
    let during: string[][] = [];
    const look = async (staging: string): Promise<void> => {
      during = [readdirSync(home), readdirSync(parent)];
      await fill(staging);
    };
    await makeFolderIn(parent, 'm', look);
    assert.deepEqual(during[1], []);
    assert.equal(during[0]?.length, 2);
    assert.deepEqual(readdirSync(home), ['parent']);
    assert.equal(readFileSync(join(parent, 'm', 'a'), 'utf8'), 'text');
    if (process.getuid?.() === 0) return; // root may write everywhere
    chmodSync(home, 0o555);
    await makeFolderIn(parent, 'n', fill);
    chmodSync(home, 0o755);
    assert.ok(existsSync(join(parent, 'n', 'a')));
  });
});
