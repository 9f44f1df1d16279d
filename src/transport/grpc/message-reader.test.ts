import assert from 'node:assert/strict';
import test from 'node:test';
import { MessageReader } from './message-reader.js';

function collect(maxSize = 1000): { reader: MessageReader; got: string[] } {
  const got: string[] = [];
  const reader = new MessageReader(maxSize, {
    onMessage: (message, compressed) => got.push(`${compressed ? 'c' : 'p'}:${Buffer.from(message).toString()}`),
  });
  return { reader, got };
}

function framed(text: string, flag = 0): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = flag;
  prefix.writeUInt32BE(text.length, 1);
  return Buffer.concat([prefix, Buffer.from(text)]);
}

const MESSAGES = Buffer.concat([framed('first'), framed(''), framed('second one', 1), framed('x')]);
const EXPECTED = ['p:first', 'p:', 'c:second one', 'p:x'];

test('messages are the same however they are split', () => {
  for (let size = 1; size <= MESSAGES.length; size++) {
    const { reader, got } = collect();
    for (let at = 0; at < MESSAGES.length; at += size) {
      assert.equal(reader.push(MESSAGES, at, Math.min(at + size, MESSAGES.length)), undefined);
    }
    assert.deepEqual(got, EXPECTED, `pieces of ${size}`);
    assert.equal(reader.unfinished, false);
  }
});

test('a message in one piece is not copied', () => {
  let message: Uint8Array | undefined;
  const reader = new MessageReader(1000, {
    onMessage: (bytes) => {
      message = bytes;
    },
  });
  const bytes = framed('hello');
  reader.push(bytes, 0, bytes.length);
  assert.equal(message?.buffer, bytes.buffer);
});

test('bad flags and sizes are refused before anything is stored', () => {
  const flag = collect();
  assert.deepEqual(flag.reader.push(framed('x', 2), 0, 6), { kind: 'flag', flag: 2 });
  const size = collect(10);
  assert.deepEqual(size.reader.push(framed('x'.repeat(11)), 0, 5), { kind: 'size', size: 11 });
  assert.deepEqual(size.got, []);
});

test('an unfinished message is known to be one', () => {
  const { reader } = collect();
  reader.push(framed('hello'), 0, 3);
  assert.equal(reader.unfinished, true);
  reader.push(framed('hello'), 3, 7);
  assert.equal(reader.unfinished, true);
  reader.push(framed('hello'), 7, 10);
  assert.equal(reader.unfinished, false);
});
