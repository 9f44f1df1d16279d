/** Frames of a model's process: cut anywhere they are the same, and of any other bytes only a FrameFault comes. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, test } from 'node:test';
import { Random } from '../../../../test/support/values/random.js';
import { FrameFault, FrameReader, FrameSplitter } from './frame-reader.js';
import { FrameWriter } from './frame-writer.js';
import { ModelMemory, SharedMemory } from './shared-memory.js';
import { type Memories, readParameters, readResponse } from './tensor-codec.js';
import { FromModel, isFromModel, LONGEST_FRAME, ParameterType, Place } from './wire.js';

/** Mutated frames; TRITON_TEST_FULL=1: a million. */
const INPUTS = process.env['TRITON_TEST_FULL'] === '1' ? 1_000_000 : 30_000;

const memories: Memories = { toModel: new SharedMemory(), fromModel: new ModelMemory() };
after(() => {
  memories.toModel.close();
  memories.fromModel.close();
});

function checkKind(kind: number): void {
  if (!isFromModel(kind)) throw new FrameFault(`kind ${kind}`);
}

/** A response with parameters of every type and tensors in every place, as a process writes it. */
function validResponse(): Buffer {
  const writer = new FrameWriter(FromModel.SEND);
  writer.u8(0);
  writer.u16(3);
  writer.text('integer');
  writer.u8(ParameterType.INTEGER);
  writer.bigU64(-5n);
  writer.text('string');
  writer.u8(ParameterType.STRING);
  writer.text('grün');
  writer.text('boolean');
  writer.u8(ParameterType.BOOLEAN);
  writer.u8(1);
  writer.u16(3);
  for (const place of [Place.INLINE, Place.SHARED, Place.BORROWED]) {
    writer.text(`OUT${place}`);
    writer.u8(8);
    writer.u8(2);
    writer.u64(2);
    writer.u64(4);
    writer.u8(place);
    writer.u64(32);
    if (place === Place.INLINE) for (let i = 0; i < 4; i++) writer.u64(i);
    else writer.u64(0);
  }
  return writer.finish().subarray(5);
}

test('a valid response is read, and its regions are named as read', () => {
  fs.writeSync(memories.fromModel.fd, Buffer.alloc(64, 1), 0, 64, 0);
  memories.toModel.write(Buffer.alloc(64, 2));
  const { outputs, parameters } = readResponse(new FrameReader(validResponse()), memories);
  assert.deepEqual(parameters, [
    ['integer', -5n],
    ['string', 'grün'],
    ['boolean', true],
  ]);
  assert.deepEqual(
    outputs.map(({ data }) => data[0]),
    [0, 1, 2],
  );
  assert.deepEqual(memories.fromModel.takeRead(), [0]);
});

test('whatever bytes a response has, only a FrameFault comes of it', () => {
  const random = new Random(11);
  const valid = validResponse();
  let read = 0;
  for (let i = 0; i < INPUTS; i++) {
    const bytes = Buffer.from(valid.subarray(0, random.percent(20) ? random.between(0, valid.length) : valid.length));
    for (let change = random.between(1, 4); change > 0 && bytes.length > 0; change--) {
      bytes[random.between(0, bytes.length - 1)] = random.percent(50) ? 255 : random.between(0, 255);
    }
    try {
      readResponse(new FrameReader(bytes), memories);
      read++;
    } catch (reason) {
      if (!(reason instanceof FrameFault)) throw new Error(`input ${i} of seed 11: ${reason}`, { cause: reason });
    }
  }
  memories.fromModel.takeRead();
  assert.ok(read > 0 && read < INPUTS, `${read} of ${INPUTS} could be read`);
});

test('garbage on the stream is a FrameFault or frames, and never makes memory that was only announced', () => {
  const random = new Random(23);
  let faults = 0;
  for (let i = 0; i < INPUTS; i++) {
    const splitter = new FrameSplitter(LONGEST_FRAME, checkKind, (frame) => {
      const reader = new FrameReader(frame);
      checkKind(reader.u8());
      readParameters(reader);
    });
    // Asking for the memory takes longer than a hundred inputs.
    const looks = i % 128 === 0;
    const before = looks ? process.memoryUsage().arrayBuffers : 0;
    try {
      for (let chunk = random.between(1, 4); chunk > 0; chunk--) {
        splitter.push(Buffer.from(Array.from({ length: random.between(1, 40) }, () => random.between(0, 255))));
      }
    } catch (reason) {
      if (!(reason instanceof FrameFault)) throw new Error(`input ${i} of seed 23: ${reason}`, { cause: reason });
      faults++;
    }
    if (looks) assert.ok(process.memoryUsage().arrayBuffers - before < 4 << 20);
  }
  assert.ok(faults > INPUTS / 2);
});

test('frames are the same wherever the stream is cut', () => {
  const random = new Random(5);
  const sizes = [0, 1, 3, 70_000, 12, 3_000_000, 5];
  const frames = sizes.map((size) => {
    const frame = Buffer.alloc(5 + size, size % 251);
    frame.writeUInt32LE(size + 1, 0);
    frame[4] = FromModel.LOG;
    return frame;
  });
  const stream = Buffer.concat(frames);
  for (let round = 0; round < 20; round++) {
    const got: Buffer[] = [];
    const splitter = new FrameSplitter(LONGEST_FRAME, checkKind, (frame) => got.push(frame));
    for (let at = 0; at < stream.length; ) {
      const end = Math.min(stream.length, at + random.between(1, round % 2 === 0 ? 9 : 300_000));
      splitter.push(stream.subarray(at, round % 2 === 0 && at > 75_000 ? stream.length : end));
      at = round % 2 === 0 && at > 75_000 ? stream.length : end;
    }
    assert.equal(got.length, frames.length);
    got.forEach((frame, i) => void assert.ok(frame.equals(frames[i]!.subarray(4)), `frame ${i} in round ${round}`));
  }
});
