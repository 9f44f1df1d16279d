import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Http2Error, Setting } from './protocol.js';
import { checkSetting, encodeSettings } from './settings.js';

describe('settings', () => {
  test('are written as pairs of 16 and 32 bits (RFC 9113 section 6.5.1)', () => {
    assert.equal(
      Buffer.from(
        encodeSettings([
          [4, 2 ** 31 - 1],
          [0x1234, 1],
        ]),
      ).toString('hex'),
      '00047fffffff123400000001',
    );
    assert.equal(encodeSettings([]).length, 0);
  });

  const cases: readonly (readonly [id: number, value: number, error: number | undefined])[] = [
    [Setting.ENABLE_PUSH, 0, undefined],
    [Setting.ENABLE_PUSH, 1, undefined],
    [Setting.ENABLE_PUSH, 2, Http2Error.PROTOCOL_ERROR],
    [Setting.INITIAL_WINDOW_SIZE, 2 ** 31 - 1, undefined],
    [Setting.INITIAL_WINDOW_SIZE, 2 ** 31, Http2Error.FLOW_CONTROL_ERROR],
    [Setting.MAX_FRAME_SIZE, 16_383, Http2Error.PROTOCOL_ERROR],
    [Setting.MAX_FRAME_SIZE, 16_384, undefined],
    [Setting.MAX_FRAME_SIZE, 2 ** 24 - 1, undefined],
    [Setting.MAX_FRAME_SIZE, 2 ** 24, Http2Error.PROTOCOL_ERROR],
    [Setting.HEADER_TABLE_SIZE, 2 ** 32 - 1, undefined],
    [0xffff, 0, undefined],
  ];
  for (const [id, value, error] of cases) {
    test(`setting ${id} = ${value}`, () => assert.equal(checkSetting(id, value), error));
  }
});
