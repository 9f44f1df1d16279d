/** JSON texts as Triton writes them: compact, raw above 0x7f, RapidJSON's number texts. */

/** Bytes and characters that a JSON string escapes with a letter. */
const LETTERS: Readonly<Record<number, string>> = {
  8: '\\b',
  9: '\\t',
  10: '\\n',
  12: '\\f',
  13: '\\r',
  34: '\\"',
  92: '\\\\',
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is escaped
const ESCAPABLE = /["\\\u0000-\u001f]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is escaped
const ESCAPABLE_ALL = /["\\\u0000-\u001f]/g;

/** A JSON string with its quotes. Only `"`, `\` and characters below 0x20 are escaped. */
export function jsonString(text: string): string {
  if (!ESCAPABLE.test(text)) return `"${text}"`;
  return `"${text.replace(ESCAPABLE_ALL, (character) => escapeOf(character.charCodeAt(0)))}"`;
}

/** `{"error":"<text>"}`: the body of every error over HTTP. */
export function errorBody(text: string): string {
  return `{"error":${jsonString(text)}}`;
}

/** A double as JSON: shortest digits, always with a fraction or an exponent; NaN and infinities as bare words. */
export function jsonDouble(value: number): string {
  if (Number.isInteger(value)) {
    if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0';
    const text = String(value);
    return Math.abs(value) < 1e21 ? `${text}.0` : text.replace('+', '');
  }
  return String(value);
}

/** The bytes of a JSON string, quotes included, whose content is not text but bytes. */
export function writeJsonStringBytes(target: Uint8Array, at: number, bytes: Uint8Array): number {
  let out = at;
  target[out++] = 0x22;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!;
    if (byte >= 0x20 && byte !== 0x22 && byte !== 0x5c) target[out++] = byte;
    else {
      const text = escapeOf(byte);
      for (let j = 0; j < text.length; j++) target[out++] = text.charCodeAt(j);
    }
  }
  target[out++] = 0x22;
  return out;
}

/** Number of bytes that `writeJsonStringBytes` writes. */
export function jsonStringBytesLength(bytes: Uint8Array): number {
  let length = bytes.length + 2;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!;
    if (byte < 0x20 || byte === 0x22 || byte === 0x5c) length += escapeOf(byte).length - 1;
  }
  return length;
}

function escapeOf(code: number): string {
  return LETTERS[code] ?? `\\u${code.toString(16).toUpperCase().padStart(4, '0')}`;
}
