/** The lines of files that findings point at. */
import { readFile } from 'node:fs/promises';
import type { Position } from '../../contract/finding.js';

const TAB_WIDTH = 8;
/** Longer lines, in bytes, are shown in part. */
const LONGEST_LINE = 2000;
/** Bytes of such a line that are shown. */
const SHOWN = 160;

/** A line as it is printed, with the place of its finding. */
export interface SourceLine {
  /** Tabs are blanks. */
  readonly text: string;
  /** Characters before the place. */
  readonly caret: number;
  /** The line as it stands in the file, and the UTF-16 units before the place. */
  readonly raw: string;
  readonly units: number;
}

/** Reads each file once. */
export class SourceLines {
  readonly #files = new Map<string, readonly Buffer[]>();

  /** The line at a position; undefined past the end of the file, and where the file cannot be read. */
  async line(file: string, position: Position): Promise<SourceLine | undefined> {
    let source = this.#files.get(file);
    if (source === undefined) {
      source = splitLines(await readFile(file).catch(() => Buffer.alloc(0)));
      this.#files.set(file, source);
    }
    const line = source[position.line - 1];
    return line === undefined || line.length === 0 ? undefined : expand(line, position.column - 1);
  }
}

function splitLines(bytes: Buffer): readonly Buffer[] {
  const lines: Buffer[] = [];
  let start = 0;
  for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a, start)) {
    lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
  lines.push(bytes.subarray(start));
  return lines;
}

/** The part of an endless line around the place; `units` still count from the start of the line. */
function expandPart(line: Buffer, column: number): SourceLine {
  const start = Math.max(0, column - SHOWN / 2);
  const part = expand(line.subarray(start, start + SHOWN), column - start);
  return { ...part, units: line.toString('utf8', 0, column).length };
}

/** Columns count bytes, and a tab moves to the next multiple of 8. */
function expand(line: Buffer, column: number): SourceLine {
  if (line.length > LONGEST_LINE) return expandPart(line, column);
  let at = 0;
  let caret = -1;
  let units = 0;
  let text = '';
  const raw = line.toString('utf8').replace(/\r$/, '');
  for (const char of raw) {
    if (caret < 0 && at >= column) caret = [...text].length;
    if (caret < 0) units += char.length;
    const width = char === '\t' ? TAB_WIDTH - (at % TAB_WIDTH) : Buffer.byteLength(char);
    text += char === '\t' ? ' '.repeat(width) : char;
    at += width;
  }
  return { text, caret: caret < 0 ? [...text].length : caret, raw, units };
}
