/** Largest text of an error in a response or in the log: bytes of UTF-8, or of what it is encoded as. */
export const MAX_MESSAGE_SIZE = 4096;

/**
 * The text if its size is at most `limit` (100 or more), else its beginning and its end with a note between them: whoever
 * sends a name of 100 MB does not get it back, and the sentence around it can still be read. Characters stay whole.
 * `sizeOf` gives the size of one code point, 1 or more. The effort is bounded by the limit, not by the text.
 */
export function cutText(
  text: string,
  limit = MAX_MESSAGE_SIZE,
  sizeOf: (codePoint: number) => number = sizeInUtf8,
): string {
  if (text.length <= limit && headWithin(text, limit, sizeOf) === text.length) return text;
  const note = ` ... [cut: ${text.length} characters] ... `;
  const room = limit - sizeOfAll(note, sizeOf);
  const head = headWithin(text, Math.floor((room * 3) / 4), sizeOf);
  const tail = tailWithin(text, Math.floor(room / 4), sizeOf);
  return text.slice(0, head) + note + text.slice(tail);
}

/** Bytes of a code point in UTF-8; a surrogate that is alone becomes the replacement character. */
export function sizeInUtf8(codePoint: number): number {
  if (codePoint < 0x80) return 1;
  if (codePoint < 0x800) return 2;
  return codePoint < 0x1_0000 ? 3 : 4;
}

function sizeOfAll(text: string, sizeOf: (codePoint: number) => number): number {
  let size = 0;
  for (const character of text) size += sizeOf(character.codePointAt(0)!);
  return size;
}

/** Where the longest beginning of that size ends. */
function headWithin(text: string, size: number, sizeOf: (codePoint: number) => number): number {
  let left = size;
  let at = 0;
  while (at < text.length) {
    const codePoint = text.codePointAt(at)!;
    left -= sizeOf(codePoint);
    if (left < 0) return at;
    at += codePoint < 0x1_0000 ? 1 : 2;
  }
  return at;
}

/** Where the longest end of that size begins. */
function tailWithin(text: string, size: number, sizeOf: (codePoint: number) => number): number {
  let left = size;
  let at = text.length;
  while (at > 0) {
    const pair = at > 1 && isPair(text.charCodeAt(at - 2), text.charCodeAt(at - 1));
    const start = at - (pair ? 2 : 1);
    left -= sizeOf(text.codePointAt(start)!);
    if (left < 0) return at;
    at = start;
  }
  return at;
}

function isPair(first: number, second: number): boolean {
  return (first & 0xfc00) === 0xd800 && (second & 0xfc00) === 0xdc00;
}
