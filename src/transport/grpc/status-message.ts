/** Encodes a status message for `grpc-message`: UTF-8, percent-encoded but for visible ASCII and blanks. */
export function encodeStatusMessage(message: string): string {
  // The usual message needs nothing.
  if (/^[ -$&-~]*$/.test(message)) return message;
  let text = '';
  for (const byte of Buffer.from(message, 'utf8')) {
    if (byte >= 0x20 && byte <= 0x7e && byte !== 0x25) text += String.fromCharCode(byte);
    else text += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return text;
}
