import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cutText, MAX_MESSAGE_SIZE } from './cut-text.js';
import { encodeStatusMessage } from './grpc/status-message.js';

const CASES = { seed: 20_260_702, numRuns: 2000 };
const anyText = fc.array(fc.constantFrom('a', '%', 'ö', '語', '\u{1f600}', '\n', '\ud83d'), { maxLength: 5000 });

test('a text within the limit stays as it is; a longer one keeps beginning and end', () => {
  assert.equal(cutText('x'.repeat(MAX_MESSAGE_SIZE)), 'x'.repeat(MAX_MESSAGE_SIZE));
  const name = 'n'.repeat(1_000_000);
  const cut = cutText(`Request for unknown model: '${name}' is not found`);
  assert.match(cut, /^Request for unknown model: 'n+ \.\.\. \[cut: 1000042 characters\] \.\.\. n+' is not found$/);
  assert.ok(cut.length <= MAX_MESSAGE_SIZE && cut.length > MAX_MESSAGE_SIZE - 3);
});

test('any text fits after the cut, and its characters are whole', () => {
  fc.assert(
    fc.property(anyText, fc.integer({ min: 100, max: 9000 }), (parts, limit) => {
      const text = wellFormed(parts.join(''));
      const cut = cutText(text, limit);
      assert.ok(Buffer.byteLength(cut) <= limit);
      assert.equal(cut, wellFormed(cut));
      assert.equal(cut === text, Buffer.byteLength(text) <= limit);
    }),
    CASES,
  );
});

test('a status message is cut by the size of its encoded form', () => {
  fc.assert(
    fc.property(anyText, (parts) => {
      const text = wellFormed(parts.join(''));
      const encoded = encodeStatusMessage(text);
      assert.ok(encoded.length <= MAX_MESSAGE_SIZE);
      const decoded = decodeURIComponent(encoded);
      assert.ok(decoded === text || decoded.includes(`[cut: ${text.length} characters]`));
    }),
    CASES,
  );
  assert.ok(encodeStatusMessage('x'.repeat(100_000_000)).length > MAX_MESSAGE_SIZE - 3);
});

/** The text without surrogates that are alone. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString();
}
