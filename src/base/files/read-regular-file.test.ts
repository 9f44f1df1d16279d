import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import {
  openRegularFile,
  openRegularFileSync,
  readRegularFile,
  readRegularFileSync,
  requireRegularFile,
} from './read-regular-file.js';

const folders: string[] = [];

function folder(): string {
  const made = mkdtempSync(path.join(tmpdir(), 'regular-'));
  folders.push(made);
  return made;
}

after(() => {
  for (const made of folders) rmSync(made, { recursive: true, force: true });
});

test('pipes, sockets, devices and directories are refused without blocking, whichever way they are read', async (t) => {
  const here = folder();
  const pipe = path.join(here, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const socket = path.join(here, 'socket');
  const server = net.createServer();
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  t.after(() => server.close());
  const link = path.join(here, 'link');
  symlinkSync(pipe, link);
  const cases: [string, RegExp][] = [
    [pipe, /Is a named pipe, not a regular file/],
    [link, /Is a named pipe, not a regular file/],
    [socket, /Is a socket, not a regular file/],
    ['/dev/zero', /Is a device, not a regular file/],
    [here, /Is a directory/],
  ];
  for (const [name, message] of cases) {
    await assert.rejects(readRegularFile(name, 100), message);
    await assert.rejects(openRegularFile(name), message);
    assert.throws(() => readRegularFileSync(name, 100), message);
    assert.throws(() => openRegularFileSync(name), message);
    assert.throws(() => requireRegularFile(name), message);
  }
  requireRegularFile(path.join(here, 'missing'));
});

test('files are read up to a bound, or their first bytes only', async () => {
  const file = path.join(folder(), 'file');
  writeFileSync(file, '0123456789');
  assert.equal((await readRegularFile(file, 10)).toString(), '0123456789');
  assert.equal(readRegularFileSync(file, 10).toString(), '0123456789');
  assert.equal((await readRegularFile(file, 10, 4)).toString(), '0123');
  assert.equal((await readRegularFile(file, 4, 4)).toString(), '0123');
  await assert.rejects(readRegularFile(file, 9), { code: 'EFBIG', message: /10 bytes; at most 9/ });
  assert.throws(() => readRegularFileSync(file, 9), { code: 'EFBIG' });
});
