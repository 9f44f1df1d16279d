import { CLASSES, COLON, CR, LF, SPACE, TAB, TOKEN, VALUE } from './characters.js';
import type { Http1Fault } from './faults.js';

/** More bytes are needed. */
const NEED_MORE = -1;

/**
 * Reads one header line, or the empty line behind the last, from `bytes[start, end)`. Returns the offset behind its CRLF
 * (a line of two bytes is the empty one), -1 if it is not complete, or what is wrong with it. For a header, start and end
 * of its name and of its value (without blanks around it) are added to `fields`.
 */
// biome-ignore lint/complexity/useMaxParams: called per header field, an object for it would cost.
export function parseFieldLine(
  bytes: Uint8Array,
  start: number,
  end: number,
  maxTokenSize: number,
  fields: number[],
): number | Http1Fault {
  let at = start;
  while (at < end && (CLASSES[bytes[at]!]! & TOKEN) !== 0) at++;
  const nameEnd = at;
  if (nameEnd - start >= maxTokenSize) return 'tokenSize';
  if (at === end) return NEED_MORE;
  if (nameEnd === start) return endOfFields(bytes, start, end);
  if (bytes[at] !== COLON) return 'headerName';
  at++;
  while (at < end && (bytes[at] === SPACE || bytes[at] === TAB)) at++;
  const valueStart = at;
  while (at < end && (CLASSES[bytes[at]!]! & VALUE) !== 0) at++;
  if (at - nameEnd - 1 > maxTokenSize * 2 || at - valueStart >= maxTokenSize) return 'tokenSize';
  if (at === end) return NEED_MORE;
  if (bytes[at] === LF) return 'bareLineFeed';
  if (bytes[at] !== CR) return 'headerValue';
  if (at + 1 === end) return NEED_MORE;
  if (bytes[at + 1] !== LF) return 'headerValue';
  let valueEnd = at;
  while (valueEnd > valueStart && (bytes[valueEnd - 1] === SPACE || bytes[valueEnd - 1] === TAB)) valueEnd--;
  fields.push(start, nameEnd, valueStart, valueEnd);
  return at + 2;
}

/** The line does not begin with a name: the empty line, or a fault. */
function endOfFields(bytes: Uint8Array, start: number, end: number): number | Http1Fault {
  switch (bytes[start]) {
    case CR:
      if (start + 1 === end) return NEED_MORE;
      return bytes[start + 1] === LF ? start + 2 : 'headerName';
    case LF:
      return 'bareLineFeed';
    case SPACE:
    case TAB:
      return 'foldedHeader';
    default:
      return 'headerName';
  }
}
