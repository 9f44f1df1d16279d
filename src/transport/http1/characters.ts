/** Classes of bytes in the head of a request (RFC 9110 section 5.6.2, RFC 9112 section 3). */
export const TOKEN = 1;
/** In a request target: anything visible, and bytes above ASCII. */
export const TARGET = 2;
/** In a header value: as in a target, and blank and tab. */
export const VALUE = 4;

/** Class bits of each byte. */
export const CLASSES: Uint8Array = buildClasses();

function buildClasses(): Uint8Array {
  const classes = new Uint8Array(256);
  for (let byte = 0x21; byte < 0x100; byte++) if (byte !== 0x7f) classes[byte] = TARGET | VALUE;
  classes[0x20] = VALUE;
  classes[0x09] = VALUE;
  const token = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (let i = 0; i < token.length; i++) classes[token.charCodeAt(i)]! |= TOKEN;
  return classes;
}

export const CR = 0x0d;
export const LF = 0x0a;
export const SPACE = 0x20;
export const TAB = 0x09;
export const COLON = 0x3a;

/** Whether `bytes[start, start + text.length)` is `text` (lower case), letters compared without case. */
export function equalsLowerCase(bytes: Uint8Array, start: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    let byte = bytes[start + i]!;
    if (byte >= 0x41 && byte <= 0x5a) byte |= 0x20;
    if (byte !== text.charCodeAt(i)) return false;
  }
  return true;
}
