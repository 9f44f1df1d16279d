import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MessageReader } from './message-reader.js';

function collect(maxSize = 1000): {
  reader: MessageReader;
  got: string[];
  push(bytes: Buffer, from?: number, to?: number): void;
} {
  const got: string[] = [];
  const reader = new MessageReader(maxSize);
  return {
    reader,
    got,
    push(bytes, from = 0, to = bytes.length) {
      for (let at = from; at < to && reader.fault === undefined; ) {
        at = reader.read(bytes, at, to);
        if (reader.message === undefined) continue;
        got.push(`${reader.compressed ? 'c' : 'p'}:${Buffer.from(reader.message).toString()}`);
      }
    },
  };
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
    const { reader, got, push } = collect();
    for (let at = 0; at < MESSAGES.length; at += size) push(MESSAGES, at, Math.min(at + size, MESSAGES.length));
    assert.deepEqual(got, EXPECTED, `pieces of ${size}`);
    assert.equal(reader.unfinished, false);
  }
});

test('a message in one piece is not copied', () => {
  const reader = new MessageReader(1000);
  const bytes = framed('hello');
  assert.equal(reader.read(bytes, 0, bytes.length), bytes.length);
  assert.equal(reader.message?.buffer, bytes.buffer);
});

test('bad flags and sizes are refused before anything is stored', () => {
  const flag = collect();
  flag.push(framed('x', 2));
  assert.deepEqual(flag.reader.fault, { kind: 'flag', flag: 2 });
  const size = collect(10);
  size.push(framed('x'.repeat(11)), 0, 5);
  assert.deepEqual(size.reader.fault, { kind: 'size', size: 11 });
  assert.deepEqual(size.got, []);
});

test('an unfinished message is known to be one', () => {
  const { reader, push } = collect();
  push(framed('hello'), 0, 3);
  assert.equal(reader.unfinished, true);
  push(framed('hello'), 3, 7);
  assert.equal(reader.unfinished, true);
  push(framed('hello'), 7, 10);
  assert.equal(reader.unfinished, false);
});
