import assert from 'node:assert/strict';
import { test } from 'node:test';
import sharp from 'sharp';
import { orientImage } from './image.js';

const data = Uint8Array.from({ length: 3 * 2 * 3 }, (_, i) => i);

for (let orientation = 1; orientation <= 8; orientation++) {
  test(`orientation ${orientation} is turned as sharp turns it`, async () => {
    const file = await sharp(data, { raw: { width: 3, height: 2, channels: 3 } })
      .withMetadata({ orientation })
      .png()
      .toBuffer();
    const { data: expected, info } = await sharp(file).autoOrient().raw().toBuffer({ resolveWithObject: true });
    const turned = orientImage({ width: 3, height: 2, channels: 3, data }, orientation);
    assert.deepEqual([turned.width, turned.height, ...turned.data], [info.width, info.height, ...expected]);
  });
}
