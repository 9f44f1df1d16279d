import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gunzipSync, inflateSync } from 'node:zlib';
import fc from 'fast-check';
import { compressMessage, encodingForLevel } from './compression.js';

describe('compression of messages', () => {
  for (const [encoding, inflate] of [
    ['gzip', gunzipSync],
    ['deflate', inflateSync],
  ] as const) {
    test(`${encoding}: zlib reads what was compressed`, async () => {
      await fc.assert(
        fc.asyncProperty(fc.uint8Array({ maxLength: 2000 }), async (message) => {
          assert.deepEqual(inflate(await compressMessage(encoding, message)), Buffer.from(message));
        }),
        { numRuns: 20 },
      );
    });
  }

  const levels: readonly (readonly [accepted: string | undefined, low: string, medium: string, high: string])[] = [
    [undefined, 'none', 'none', 'none'],
    ['', 'none', 'none', 'none'],
    ['identity', 'none', 'none', 'none'],
    ['br', 'none', 'none', 'none'],
    ['gzip', 'gzip', 'gzip', 'gzip'],
    ['deflate', 'deflate', 'deflate', 'deflate'],
    ['identity, deflate, gzip', 'gzip', 'deflate', 'deflate'],
    ['gzip ,deflate', 'gzip', 'deflate', 'deflate'],
  ];
  for (const [accepted, ...expected] of levels) {
    test(`what a peer that accepts ${accepted === undefined ? 'nothing' : `'${accepted}'`} gets, by level`, () => {
      const got = (['low', 'medium', 'high'] as const).map((level) => encodingForLevel(level, accepted) ?? 'none');
      assert.deepEqual(got, expected);
      assert.equal(encodingForLevel('none', accepted), undefined);
    });
  }
});
