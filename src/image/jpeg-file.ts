/** What has to be known of a JPEG file besides its pixels: its segments, and how far its image data reach. */

/** Marker bytes (behind 0xff). */
const SOF_BASELINE = 0xc0;
const SOF_EXTENDED = 0xc1;
const SOF_LAST = 0xcf;
const DHT = 0xc4;
const JPG = 0xc8;
const DAC = 0xcc;
const RST_FIRST = 0xd0;
const RST_LAST = 0xd7;
const EOI = 0xd9;
const SOS = 0xda;
const DRI = 0xdd;
const APP14 = 0xee;

interface Segment {
  readonly marker: number;
  /** First byte of the content. */
  readonly start: number;
  readonly end: number;
}

/** True for a file that starts as a JPEG. */
export function isJpeg(file: Uint8Array): boolean {
  return file[0] === 0xff && file[1] === 0xd8;
}

/** Segments up to the first scan's header; a segment that is cut off is left out. */
function* segments(file: Uint8Array): Generator<Segment> {
  for (let at = 2; at + 4 <= file.length && file[at] === 0xff; ) {
    const marker = file[at + 1] as number;
    if (marker === 0xff) {
      at++; // fill byte
      continue;
    }
    const end = at + 2 + wordAt(file, at + 2);
    if (end > file.length) return;
    yield { marker, start: at + 4, end };
    if (marker === SOS) return;
    at = end;
  }
}

function wordAt(file: Uint8Array, at: number): number {
  return ((file[at] as number) << 8) | (file[at + 1] as number);
}

/** True when Adobe's marker is there: then the samples of CMYK images are stored inverted. */
export function hasAdobeMarker(file: Uint8Array): boolean {
  for (const { marker, start } of segments(file)) {
    if (marker === APP14 && Buffer.from(file.subarray(start, start + 5)).toString('latin1') === 'Adobe') return true;
  }
  return false;
}

/** A component as the frame header describes it. */
export interface JpegComponent {
  readonly id: number;
  readonly across: number;
  readonly down: number;
}

/** Huffman code lengths: how many codes of each length 1..16, and their symbols in order. */
export interface HuffmanTable {
  readonly counts: Uint8Array;
  readonly symbols: Uint8Array;
}

/** Header of a sequential JPEG whose only scan begins at `dataStart`. */
export interface JpegScan {
  readonly width: number;
  readonly height: number;
  readonly components: readonly JpegComponent[];
  /** Tables by component, in the order of the scan. */
  readonly tables: readonly { readonly dc: HuffmanTable; readonly ac: HuffmanTable }[];
  readonly restartInterval: number;
  readonly dataStart: number;
}

/**
 * The scan of a sequential (not progressive) JPEG that holds all its components; undefined for every other kind and for
 * files that are cut within their header.
 */
export function readJpegScan(file: Uint8Array): JpegScan | undefined {
  const tables = new Map<number, HuffmanTable>();
  let frame: { width: number; height: number; components: JpegComponent[] } | undefined;
  let restartInterval = 0;
  for (const { marker, start, end } of segments(file)) {
    if (marker === DHT) readTables(file.subarray(start, end), tables);
    else if (marker === DRI) restartInterval = wordAt(file, start);
    else if (marker === SOF_BASELINE || marker === SOF_EXTENDED) frame = readFrame(file.subarray(start, end));
    else if (isFrame(marker)) return undefined;
    else if (marker === SOS) {
      if (frame === undefined || file[start] !== frame.components.length) return undefined;
      const chosen = frame.components.map((_, i) => {
        const selector = file[start + 2 + i * 2] as number;
        return { dc: tables.get(selector >> 4), ac: tables.get(0x10 | (selector & 15)) };
      });
      if (!chosen.every((pair): pair is { dc: HuffmanTable; ac: HuffmanTable } => !!pair.dc && !!pair.ac))
        return undefined;
      return { ...frame, tables: chosen, restartInterval, dataStart: end };
    }
  }
  return undefined;
}

function isFrame(marker: number): boolean {
  return marker >= SOF_BASELINE && marker <= SOF_LAST && marker !== DHT && marker !== JPG && marker !== DAC;
}

function readFrame(segment: Uint8Array) {
  const components: JpegComponent[] = [];
  for (let i = 0, at = 6; i < (segment[5] as number); i++, at += 3) {
    const sampling = segment[at + 1] as number;
    components.push({ id: segment[at] as number, across: sampling >> 4, down: sampling & 15 });
  }
  return { height: wordAt(segment, 1), width: wordAt(segment, 3), components };
}

/** Tables by class and number: `class << 4 | number`, class 0 = DC, 1 = AC. */
function readTables(segment: Uint8Array, tables: Map<number, HuffmanTable>): void {
  for (let at = 0; at + 17 <= segment.length; ) {
    const counts = segment.subarray(at + 1, at + 17);
    const total = counts.reduce((sum, count) => sum + count, 0);
    tables.set(segment[at] as number, { counts, symbols: segment.subarray(at + 17, at + 17 + total) });
    at += 17 + total;
  }
}

/** True when the file ends within its image data: a scan has begun and no end marker follows. */
export function endsWithinScan(file: Uint8Array): boolean {
  let at: number | undefined;
  for (const { marker, end } of segments(file)) if (marker === SOS) at = end;
  if (at === undefined) return false;
  for (at = file.indexOf(0xff, at); at >= 0 && at + 1 < file.length; at = file.indexOf(0xff, at)) {
    const next = file[at + 1] as number;
    if (next === EOI) return false;
    if (next === 0 || (next >= RST_FIRST && next <= RST_LAST)) at += 2;
    else if (next === 0xff) at++;
    else at += 2 + wordAt(file, at + 2); // tables, or the header of a further scan
  }
  return true;
}
