import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { SocketWriter } from '../../../src/transport/socket-writer.js';

/** Size of the buffers that all connections of a thread share. */
const STAGE_SIZE = 64 * 1024;
const BLOCK = 16 * 1024;

/** Keeps what it was given last, to see where in the shared buffer it lies. */
class Probe extends Duplex {
  last: Buffer = Buffer.alloc(0);

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.last = chunk;
    done();
  }
}

const probe = new Probe();
const writer = new SocketWriter(probe);

/** Writes so much on a connection of its own that `left` bytes (up to 400) remain in the shared buffer. */
export function fillStage(left: number): void {
  let at = write(1);
  if (at > STAGE_SIZE - left) at = write(left + 1);
  while (at < STAGE_SIZE - left) at = write(Math.min(BLOCK, STAGE_SIZE - left - at));
  assert.equal(at, STAGE_SIZE - left);
}

/** Writes N bytes; returns where in the shared buffer they end. */
function write(size: number): number {
  writer.appendLatin1('#'.repeat(size));
  writer.flush();
  assert.equal(probe.last.buffer.byteLength, STAGE_SIZE, 'what is small goes through a shared buffer of that size');
  assert.equal(probe.last.length, size);
  return probe.last.byteOffset + size;
}
