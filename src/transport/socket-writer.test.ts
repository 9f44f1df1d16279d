import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { SocketWriter } from './socket-writer.js';

/** A writer, and what its socket got. */
function collect() {
  const parts: Buffer[] = [];
  const socket = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      parts.push(chunk);
      done();
    },
  });
  return { writer: new SocketWriter(socket), parts, sent: () => Buffer.concat(parts) };
}

const pieces = fc.array(fc.uint8Array({ maxLength: 20_000, size: 'max' }), { maxLength: 3 });
const frame = fc.record({ type: fc.nat(255), flags: fc.nat(255), stream: fc.nat(2 ** 31 - 1), payload: pieces });

/** Bytes of one append, and how a writer is given them. */
const arbitraryAppend: fc.Arbitrary<{ bytes: Buffer; to(writer: SocketWriter): void }> = fc.oneof(
  fc.uint8Array({ maxLength: 2000 }).map((piece) => ({
    bytes: Buffer.from(piece),
    to: (writer: SocketWriter) => writer.append(piece),
  })),
  pieces.map((parts) => ({ bytes: Buffer.concat(parts), to: (writer: SocketWriter) => writer.appendAll(parts) })),
  fc.uint8Array({ maxLength: 200 }).map((piece) => ({
    bytes: Buffer.from(piece),
    to: (writer: SocketWriter) => writer.appendLatin1(Buffer.from(piece).toString('latin1')),
  })),
  fc.nat(2 ** 32 - 1).map((value) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return { bytes, to: (writer: SocketWriter) => writer.appendUint32(value) };
  }),
  frame.map(({ type, flags, stream, payload }) => {
    const body = Buffer.concat(payload);
    const head = Buffer.alloc(9);
    head.writeUIntBE(body.length, 0, 3);
    head[3] = type;
    head[4] = flags;
    head.writeUInt32BE(stream, 5);
    return {
      bytes: Buffer.concat([head, body]),
      to: (writer: SocketWriter) => writer.appendFrame(type, flags, stream, payload),
    };
  }),
);

describe('SocketWriter', () => {
  test('each socket gets what was appended for it, in order, whatever is appended for others in between', () => {
    const step = fc.record({ writer: fc.nat(2), append: arbitraryAppend, flush: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        const sockets = [collect(), collect(), collect()];
        const expected: Buffer[][] = [[], [], []];
        for (const { writer, append, flush } of steps) {
          append.to(sockets[writer]!.writer);
          expected[writer]!.push(append.bytes);
          if (flush) sockets[writer]!.writer.flush();
        }
        for (const { writer } of sockets) writer.flush();
        assert.deepEqual(
          sockets.map(({ sent }) => sent()),
          expected.map((parts) => Buffer.concat(parts)),
        );
      }),
      { numRuns: 50 },
    );
  });

  test('small appends leave in one write', () => {
    const { writer, parts } = collect();
    for (const text of ['a', 'b', 'c']) writer.appendLatin1(text);
    writer.append(Buffer.from('d'));
    assert.equal(writer.backlog, 4);
    writer.flush();
    assert.deepEqual([parts.map(String), writer.backlog], [['abcd'], 0]);
  });

  test('what is scheduled leaves at the end of the turn', async () => {
    const { writer, sent } = collect();
    writer.appendLatin1('abc');
    writer.schedule();
    assert.equal(sent().toString(), '');
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(sent().toString(), 'abc');
  });
});
