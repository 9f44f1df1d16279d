import { cutText, MAX_MESSAGE_SIZE, sizeInUtf8 } from '../cut-text.js';

/**
 * Encodes a status message for `grpc-message` (grpc/grpc: doc/PROTOCOL-HTTP2.md): UTF-8, percent-encoded but for visible
 * ASCII and blanks. What is longer than MAX_MESSAGE_SIZE bytes in that form is cut: clients limit the size of headers.
 */
export function encodeStatusMessage(message: string): string {
  // The usual message needs nothing.
  if (message.length <= MAX_MESSAGE_SIZE && /^[ -$&-~]*$/.test(message)) return message;
  let text = '';
  for (const byte of Buffer.from(cutText(message, MAX_MESSAGE_SIZE, sizeEncoded), 'utf8')) {
    if (isPlain(byte)) text += String.fromCharCode(byte);
    else text += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return text;
}

function isPlain(codePoint: number): boolean {
  return codePoint >= 0x20 && codePoint <= 0x7e && codePoint !== 0x25;
}

function sizeEncoded(codePoint: number): number {
  return isPlain(codePoint) ? 1 : 3 * sizeInUtf8(codePoint);
}
