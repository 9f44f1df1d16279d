import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { sourceOf } from './message-sources.js';

/** The rooms whose code logs through the server's log. */
const ROOMS = ['engine', 'backends', 'repository', 'onnx', 'modelconfig', 'server'];
const SOURCE = path.resolve(import.meta.dirname, '../../../../src');
/** `log.error('...')` with a literal; messages that come in variables are not looked at. */
const CALL =
  /(?:\blog|#log)\??\.(?:info|warning|error|verbose)\(\s*(?:\d,\s*)?(?:cutText\()?([`'"])((?:\\.|(?!\1)[^\\])*)\1/g;
const VALUE = /\$\{(?:[^{}]|\{[^{}]*\})*\}/g;

function loggedMessages(): string[] {
  const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).filter(
    (file) =>
      ROOMS.includes(file.split(path.sep)[0]!) && file.endsWith('.ts') && !/(\.test|verbose-buffers)\.ts$/.test(file),
  );
  return files.flatMap((file) =>
    [...readFileSync(path.join(SOURCE, file), 'utf8').matchAll(CALL)].map(([, , text]) => text!),
  );
}

test('every message that the code logs has a number', () => {
  const messages = loggedMessages();
  assert.ok(messages.length > 50);
  // A value in front may be the id of the request, which is empty where there is none.
  const numbered = (text: string): boolean => sourceOf(text.replaceAll(VALUE, '1')) !== 'triton.ts:0';
  const without = messages.filter((text) => !numbered(text) && !numbered(text.replace(/^\$\{[^}]*\}/, '')));
  assert.deepEqual(without, []);
});

test('a message shows the file that logs it in Triton, and its own number', () => {
  assert.equal(sourceOf("successfully loaded 'simple'"), 'model_lifecycle.cc:2');
  assert.equal(sourceOf("failed to load 'simple'"), 'model_lifecycle.cc:5');
  assert.equal(sourceOf("failed to load 'simple' version 1: Internal: no"), 'model_lifecycle.cc:3');
  assert.equal(sourceOf('| Model '), 'server.cc:3');
});

test('the use of buffers is worded by protocol', () => {
  assert.equal(sourceOf("HTTP using buffer for: 'OUT', size: 4, addr: 0x100040"), 'http_server.cc:5');
  assert.equal(sourceOf('HTTP release: size 4, addr 0x100040'), 'http_server.cc:6');
  assert.equal(sourceOf("GRPC: using buffer for 'OUT', size: 4, addr: 0x100040"), 'infer_handler.cc:1');
  assert.equal(sourceOf('GRPC free: size 4, addr 0x100040'), 'infer_handler.cc:2');
});

test('the id of a request does not count', () => {
  assert.equal(sourceOf('[request id: 7] Setting state from PENDING to EXECUTING'), 'infer_request.cc:2');
});

test('a message that is not in the table has number 0', () => {
  assert.equal(sourceOf('what a model says'), 'triton.ts:0');
});
