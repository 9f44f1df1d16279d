import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeBmp } from './decode-bmp.js';

interface Parts {
  readonly width: number;
  readonly height: number;
  readonly bits: number;
  readonly compression?: number;
  /** Blue, green, red, 0 per colour; or the three masks. */
  readonly table?: readonly number[];
  readonly pixels: readonly number[];
}

function bmp({ width, height, bits, compression = 0, table = [], pixels }: Parts): Uint8Array {
  const header = Buffer.alloc(54);
  const offset = 54 + table.length;
  header.write('BM', 'latin1');
  header.writeUInt32LE(offset + pixels.length, 2);
  header.writeUInt32LE(offset, 10);
  header.writeUInt32LE(40, 14);
  header.writeInt32LE(width, 18);
  header.writeInt32LE(height, 22);
  header.writeUInt16LE(1, 26);
  header.writeUInt16LE(bits, 28);
  header.writeUInt32LE(compression, 30);
  return Buffer.concat([header, Buffer.from(table), Buffer.from(pixels)]);
}

const RED_GREEN = [0, 0, 255, 0, 0, 255, 0, 0];
const RED = [255, 0, 0];
const GREEN = [0, 255, 0];

const decoded: readonly { name: string; parts: Parts; rgb: number[] }[] = [
  {
    name: '24 bits, rows from the bottom',
    parts: { width: 1, height: 2, bits: 24, pixels: [1, 2, 3, 0, 4, 5, 6, 0] },
    rgb: [6, 5, 4, 3, 2, 1],
  },
  {
    name: '24 bits, rows from the top',
    parts: { width: 1, height: -2, bits: 24, pixels: [1, 2, 3, 0, 4, 5, 6, 0] },
    rgb: [3, 2, 1, 6, 5, 4],
  },
  { name: '32 bits, alpha dropped', parts: { width: 1, height: 1, bits: 32, pixels: [1, 2, 3, 99] }, rgb: [3, 2, 1] },
  {
    name: '16 bits, five each',
    parts: { width: 1, height: 1, bits: 16, pixels: [0x1f, 0x7c, 0, 0] },
    rgb: [248, 0, 248],
  },
  {
    name: '16 bits with fields 5, 6, 5',
    parts: {
      width: 1,
      height: 1,
      bits: 16,
      compression: 3,
      table: [0, 0xf8, 0, 0, 0xe0, 7, 0, 0, 0x1f, 0, 0, 0],
      pixels: [0xe0, 7, 0, 0],
    },
    rgb: [0, 252, 0],
  },
  {
    name: '8 bits with a palette',
    parts: { width: 2, height: 1, bits: 8, table: RED_GREEN, pixels: [1, 0, 0, 0] },
    rgb: [...GREEN, ...RED],
  },
  {
    name: '4 bits with a palette',
    parts: { width: 2, height: 1, bits: 4, table: RED_GREEN, pixels: [0x10, 0, 0, 0] },
    rgb: [...GREEN, ...RED],
  },
  {
    name: '1 bit with a palette',
    parts: { width: 3, height: 1, bits: 1, table: RED_GREEN, pixels: [0b10100000, 0, 0, 0] },
    rgb: [...GREEN, ...RED, ...GREEN],
  },
  {
    name: 'runs of 8 bits, literals, end',
    parts: { width: 5, height: 1, bits: 8, compression: 1, table: RED_GREEN, pixels: [2, 1, 0, 3, 0, 1, 0, 0, 0, 1] },
    rgb: [...GREEN, ...GREEN, ...RED, ...GREEN, ...RED],
  },
  {
    name: 'runs of 4 bits',
    parts: { width: 3, height: 1, bits: 4, compression: 2, table: RED_GREEN, pixels: [3, 0x01, 0, 1] },
    rgb: [...RED, ...GREEN, ...RED],
  },
];

for (const { name, parts, rgb } of decoded) {
  test(`decodes a bitmap: ${name}`, () => {
    const image = decodeBmp(bmp(parts));
    assert.deepEqual(image && [...image.data], rgb);
    assert.equal(image?.height, Math.abs(parts.height));
  });
}

test('bitmaps that are cut short or of an unknown kind are undefined', () => {
  const whole = bmp({ width: 4, height: 4, bits: 24, pixels: new Array(48).fill(7) });
  assert.notEqual(decodeBmp(whole), undefined);
  for (const cut of [26, 40, 54, whole.length - 1]) assert.equal(decodeBmp(whole.subarray(0, cut)), undefined);
  assert.equal(decodeBmp(bmp({ width: 1, height: 1, bits: 2, pixels: [0, 0, 0, 0] })), undefined);
  assert.equal(decodeBmp(bmp({ width: 0, height: 1, bits: 24, pixels: [] })), undefined);
  assert.equal(decodeBmp(bmp({ width: 1, height: 1, bits: 24, compression: 4, pixels: [0, 0, 0, 0] })), undefined);
});
