import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { MAX_MESSAGE_SIZE } from '../cut-text.js';
import { encodeStatusMessage } from './status-message.js';

describe('encodeStatusMessage', () => {
  test('what was written can be read again, and only visible ASCII and blanks are sent', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (message) => {
        const encoded = encodeStatusMessage(message);
        assert.match(encoded, /^[ -~]*$/);
        assert.equal(decodeURIComponent(encoded), message);
      }),
    );
  });

  const cases: readonly (readonly [message: string, encoded: string])[] = [
    ["plain text, 'quoted' ~!", "plain text, 'quoted' ~!"],
    ['100%\n', '100%25%0A'],
    ['größe \u{1f600}', 'gr%C3%B6%C3%9Fe %F0%9F%98%80'],
    ['\x7f', '%7F'],
    ['', ''],
  ];
  for (const [message, encoded] of cases) {
    test(JSON.stringify(message), () => assert.equal(encodeStatusMessage(message), encoded));
  }

  test('a long message is cut in its encoded form, between characters', () => {
    for (const character of ['a', '%', 'ö', '\u{1f600}']) {
      const encoded = encodeStatusMessage(character.repeat(MAX_MESSAGE_SIZE));
      assert.ok(encoded.length <= MAX_MESSAGE_SIZE, character);
      assert.ok(decodeURIComponent(encoded).startsWith(character));
    }
  });
});
