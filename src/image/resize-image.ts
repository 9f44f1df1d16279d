import type { Image } from './image.js';

/** Fixed-point one of the weights. */
const ONE = 2048;

/** Source samples and weights of every target sample of one axis. */
interface Axis {
  readonly low: Int32Array;
  readonly high: Int32Array;
  readonly lowWeight: Int32Array;
  readonly highWeight: Int32Array;
}

/**
 * Bilinear resize, bit for bit the one of OpenCV (INTER_LINEAR on 8-bit samples), so that tensors are those of
 * Triton's image_client to the byte: no antialiasing, neither cropping nor keeping of the aspect ratio. The image
 * itself when the size is the same.
 */
export function resizeImage(image: Image, width: number, height: number): Image {
  if (image.width === width && image.height === height) return image;
  const { channels } = image;
  const columns = columnAxis(image.width, width);
  const rows = rowAxis(image.height, height);
  const data = new Uint8Array(width * height * channels);
  // The two source rows in use, already resized horizontally; mostly a target row needs one of the last one again.
  let top = new Int32Array(width * channels);
  let bottom = new Int32Array(width * channels);
  let topRow = -1;
  let bottomRow = -1;
  for (let y = 0; y < height; y++) {
    const low = rows.low[y] as number;
    const high = rows.high[y] as number;
    if (low === bottomRow) {
      [top, bottom] = [bottom, top];
      [topRow, bottomRow] = [bottomRow, topRow];
    }
    if (low !== topRow) resizeRow(image, low, columns, top);
    if (high !== bottomRow) resizeRow(image, high, columns, bottom);
    topRow = low;
    bottomRow = high;
    blendRows(top, bottom, rows.lowWeight[y] as number, rows.highWeight[y] as number, data, y * width * channels);
  }
  return { width, height, channels, data };
}

/** Horizontal axis: beyond the edges the weight goes to the edge sample. */
function columnAxis(source: number, target: number): Axis {
  return axis(source, target, (position) => {
    if (position.index < 0) return { index: 0, fraction: 0 };
    if (position.index >= source - 1) return { index: source - 1, fraction: 0 };
    return position;
  });
}

/** Vertical axis: beyond the edges the weights stay, both rows are the edge row. */
function rowAxis(source: number, target: number): Axis {
  return axis(source, target, (position) => position);
}

interface Position {
  readonly index: number;
  readonly fraction: number;
}

function axis(source: number, target: number, atEdges: (position: Position) => Position): Axis {
  const result: Axis = {
    low: new Int32Array(target),
    high: new Int32Array(target),
    lowWeight: new Int32Array(target),
    highWeight: new Int32Array(target),
  };
  const step = 1 / (target / source);
  const clamp = (index: number): number => Math.min(Math.max(index, 0), source - 1);
  for (let i = 0; i < target; i++) {
    const position = Math.fround((i + 0.5) * step - 0.5);
    const floor = Math.floor(position);
    const { index, fraction } = atEdges({ index: floor, fraction: Math.fround(position - floor) });
    result.low[i] = clamp(index);
    result.high[i] = clamp(index + 1);
    result.lowWeight[i] = roundHalfEven(Math.fround(1 - fraction) * ONE);
    result.highWeight[i] = roundHalfEven(fraction * ONE);
  }
  return result;
}

function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}

function resizeRow(image: Image, row: number, columns: Axis, out: Int32Array): void {
  const { data, channels } = image;
  const start = row * image.width * channels;
  for (let x = 0, o = 0; o < out.length; x++) {
    const low = start + (columns.low[x] as number) * channels;
    const high = start + (columns.high[x] as number) * channels;
    const a = columns.lowWeight[x] as number;
    const b = columns.highWeight[x] as number;
    for (let c = 0; c < channels; c++) out[o++] = (data[low + c] as number) * a + (data[high + c] as number) * b;
  }
}

/** All intermediate values fit into 31 bits: 255 * 2048 >> 4, times 2048. */
// biome-ignore lint/complexity/useMaxParams: called per row of an image, an object for it would cost.
function blendRows(top: Int32Array, bottom: Int32Array, a: number, b: number, out: Uint8Array, at: number): void {
  for (let i = 0; i < top.length; i++) {
    const value = (((a * ((top[i] as number) >> 4)) >> 16) + ((b * ((bottom[i] as number) >> 4)) >> 16) + 2) >> 2;
    out[at + i] = Math.min(value, 255);
  }
}
