import assert from 'node:assert/strict';
import { test } from 'node:test';
import sharp from 'sharp';
import { decodeImage } from './decode-image.js';
import type { Image } from './image.js';

const WIDTH = 6;
const HEIGHT = 4;
const RAW = { raw: { width: WIDTH, height: HEIGHT, channels: 3 } } as const;
const pixels = Buffer.from(Array.from({ length: WIDTH * HEIGHT * 3 }, (_, i) => (i * 37) % 256));

test('lossless formats give the pixels back', async () => {
  for (const encoder of [sharp(pixels, RAW).png(), sharp(pixels, RAW).tiff({ compression: 'lzw' })]) {
    const file = await encoder.toBuffer();
    const image = await decodeImage(file);
    assert.deepEqual({ ...image, data: Buffer.from(image!.data) }, { width: 6, height: 4, channels: 3, data: pixels });
  }
});

test('alpha is dropped, not blended', async () => {
  const file = await sharp(pixels, RAW).ensureAlpha(0).png().toBuffer();
  assert.deepEqual(Buffer.from((await decodeImage(file))!.data), pixels);
});

test('grey, bilevel and palette images become three channels', async () => {
  const grey = sharp(pixels, RAW).greyscale();
  for (const options of [{}, { palette: true }, { colours: 2 }]) {
    const file = await grey.clone().png(options).toBuffer();
    const levels = await sharp(file).toColourspace('b-w').raw().toBuffer();
    assert.equal(levels.length, WIDTH * HEIGHT);
    assert.deepEqual(Array.from(levels, (v) => [v, v, v]).flat(), [...((await decodeImage(file))?.data ?? [])]);
  }
});

test('16-bit samples lose their lower byte', async () => {
  const samples = Uint16Array.from({ length: WIDTH * HEIGHT }, (_, i) => i * 1000 + 255);
  const file = await sharp(samples, { raw: { width: WIDTH, height: HEIGHT, channels: 1 } })
    .toColourspace('grey16')
    .png()
    .toBuffer();
  const image = await decodeImage(file);
  assert.deepEqual(
    [...image!.data].filter((_, i) => i % 3 === 0),
    Array.from(samples, (v) => v >> 8),
  );
});

test('the EXIF orientation is applied', async () => {
  const file = await sharp(pixels, RAW).withMetadata({ orientation: 6 }).png().toBuffer();
  const image = await decodeImage(file);
  assert.deepEqual([image?.width, image?.height], [HEIGHT, WIDTH]);
  // A quarter turn to the right: the first row begins with the last row's first pixel.
  assert.deepEqual(
    [...image!.data.subarray(0, 3)],
    [...pixels.subarray((HEIGHT - 1) * WIDTH * 3, (HEIGHT - 1) * WIDTH * 3 + 3)],
  );
});

const NOISE = {
  create: {
    width: 64,
    height: 64,
    channels: 3,
    background: '#a05020',
    noise: { type: 'gaussian', mean: 128, sigma: 30 },
  },
} as const;

/** Rows per row of coding units, and the rows that wait for more below. */
const kinds = [
  { name: 'colour at half size', encoder: sharp(NOISE).jpeg(), unit: 16, waiting: 2 },
  { name: 'colour at full size', encoder: sharp(NOISE).jpeg({ chromaSubsampling: '4:4:4' }), unit: 8, waiting: 0 },
  { name: 'grey', encoder: sharp(NOISE).toColourspace('b-w').jpeg(), unit: 8, waiting: 0 },
] as const;

for (const { name, encoder, unit, waiting } of kinds) {
  test(`a JPEG cut short within its pixels repeats its last row: ${name}`, async () => {
    const whole = await encoder.toBuffer();
    const full = await decodeImage(whole);
    const row = (image: Image | undefined, y: number) => [...image!.data.subarray(y * 192, y * 192 + 192)];
    for (const part of [0.5, 0.7, 0.9]) {
      const cut = await decodeImage(whole.subarray(0, Math.floor(whole.length * part)));
      assert.deepEqual([cut?.width, cut?.height], [64, 64]);
      const rows = Array.from({ length: 64 }, (_, y) => y).findIndex((y) => `${row(cut, y)}` !== `${row(full, y)}`);
      assert.ok(rows > 0 && (rows + waiting) % unit === 0, `${rows}`);
      for (let y = rows; y < 64; y++) assert.deepEqual(row(cut, y), row(cut, rows - 1));
    }
    assert.deepEqual(await decodeImage(whole.subarray(0, -2)), full);
    assert.equal(await decodeImage(whole.subarray(0, 100)), undefined);
  });
}

test('a progressive JPEG that is cut short is not decoded', async () => {
  const whole = await sharp(pixels, RAW).jpeg({ progressive: true }).toBuffer();
  assert.notEqual(await decodeImage(whole), undefined);
  assert.equal(await decodeImage(whole.subarray(0, -8)), undefined);
});

test('what follows the end of a JPEG does not matter', async () => {
  const whole = await sharp(pixels, RAW).jpeg().toBuffer();
  assert.deepEqual(await decodeImage(Buffer.concat([whole, Buffer.from('more')])), await decodeImage(whole));
});

test('what is not an image is undefined', async () => {
  for (const text of ['', 'no image', '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>', 'BM']) {
    assert.equal(await decodeImage(Buffer.from(text)), undefined);
  }
});
