import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deflateRawSync, deflateSync, gunzipSync, gzipSync } from 'node:zlib';
import { compress, decompress, isCompressed, responseEncoding } from './compression.js';

test('the encoding asked for: weights, order, exact names', () => {
  const cases: [header: string | undefined, encoding: string][] = [
    [undefined, 'identity'],
    ['gzip', 'gzip'],
    ['deflate, gzip', 'deflate'],
    ['identity, gzip', 'identity'],
    ['br;q=1.0, gzip;q=0.5', 'gzip'],
    ['gzip;q=0.4, deflate;q=0.8', 'deflate'],
    ['gzip;q=0', 'identity'],
    ['gzip;q=x', 'identity'],
    ['gzip; q=1', 'identity'],
    ['GZIP', 'identity'],
    ['*', 'identity'],
  ];
  for (const [header, encoding] of cases) assert.equal(responseEncoding(header), encoding, header);
});

/** A reply for which anything may be held. */
const KEEPS = { hold: () => true, onClose() {} };

test('only gzip and deflate are decompressed, by exact name', () => {
  assert.equal(isCompressed('gzip'), true);
  assert.equal(isCompressed('identity'), false);
  for (const name of ['br', 'gzip, deflate', ' ', 'GZIP']) {
    assert.throws(() => isCompressed(name), { message: 'Unsupported compression type', code: 'UNSUPPORTED' });
  }
});

test('either wrapper is taken, damage ends the body', async () => {
  const text = Buffer.from('some text '.repeat(1000));
  assert.deepEqual(Buffer.from(await decompress(gzipSync(text), 1e6, KEEPS)), text);
  assert.deepEqual(Buffer.from(await decompress(deflateSync(text), 1e6, KEEPS)), text);
  assert.equal((await decompress(deflateRawSync(text), 1e6, KEEPS)).length, 0);
  assert.equal((await decompress(Buffer.from('no such thing'), 1e6, KEEPS)).length, 0);
  assert.equal((await decompress(gzipSync(text).subarray(0, 40), 1e6, KEEPS)).length <= text.length, true);
});

test('bounds of decompression', async () => {
  let left = 150_000;
  const full = {
    hold(bytes: number) {
      left -= bytes;
      return left >= 0;
    },
    onClose() {},
  };
  await assert.rejects(decompress(gzipSync(Buffer.alloc(10_000_000)), 1e9, full), {
    code: 'UNAVAILABLE',
    message: /no room for this one: .*--request-memory-limit/,
  });
  assert.ok(left > -100_000, 'it ends with the first piece that has no room');
  await assert.rejects(decompress(new Uint8Array(0), 10, KEEPS), { message: 'nothing to be decompressed' });
  await assert.rejects(decompress(gzipSync(Buffer.alloc(1000)), 999, KEEPS), {
    message:
      'Decompressed data size exceeds the maximum allowed value of 999 bytes. Use --http-max-input-size to increase the limit.',
  });
  assert.equal((await decompress(gzipSync(Buffer.alloc(1000)), 1000, KEEPS)).length, 1000);
});

test('responses are compressed as one stream', async () => {
  const body = await compress([Buffer.from('ab'), Buffer.from('cd')], 'gzip');
  assert.equal(gunzipSync(body).toString(), 'abcd');
});
