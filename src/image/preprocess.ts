/** From a decoded picture to the bytes of a model's input (spec: image client, section 5). */
import { bytesOf } from '../protocol/typed-view.js';
import type { Picture } from './picture.js';
import { resizePicture } from './resize-picture.js';

/** How samples are scaled: as they are, to [-1, 1], or minus the mean colour (123, 117, 104). */
export type Scaling = 'NONE' | 'INCEPTION' | 'VGG';

/** Order of the dimensions: rows of pixels, or one plane per channel. */
export type Layout = 'NHWC' | 'NCHW';

/** Datatypes of inputs that pictures can be made into. */
export const PICTURE_DATATYPES = ['UINT8', 'INT8', 'UINT16', 'INT16', 'INT32', 'FP32', 'FP64'] as const;
export type PictureDatatype = (typeof PICTURE_DATATYPES)[number];

/** What a model wants its pictures to be. */
export interface PictureShape {
  readonly width: number;
  readonly height: number;
  readonly channels: number;
  readonly layout: Layout;
  readonly datatype: PictureDatatype;
}

const ARRAYS = {
  UINT8: Uint8Array,
  INT8: Int8Array,
  UINT16: Uint16Array,
  INT16: Int16Array,
  INT32: Int32Array,
  FP32: Float32Array,
  FP64: Float64Array,
} as const;

const LIMITS: Readonly<Record<PictureDatatype, readonly [low: number, high: number]>> = {
  UINT8: [0, 0xff],
  INT8: [-0x80, 0x7f],
  UINT16: [0, 0xffff],
  INT16: [-0x8000, 0x7fff],
  INT32: [-0x80000000, 0x7fffffff],
  FP32: [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY],
  FP64: [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY],
};

/** Mean of red, green, blue; of grey. */
const VGG_MEANS: Readonly<Record<number, readonly number[]>> = { 3: [123, 117, 104], 1: [128] };

/**
 * Bytes of one input element: colour conversion, resize, type conversion, scaling, layout, in this order. `shape`
 * must have 1 or 3 channels and positive sizes.
 */
export function preprocess(picture: Picture, shape: PictureShape, scaling: Scaling): Uint8Array {
  const coloured = shape.channels === 1 ? toGrey(picture) : picture;
  const { data } = resizePicture(coloured, shape.width, shape.height);
  const { channels } = shape;
  const result = new ARRAYS[shape.datatype](data.length);
  const pixels = data.length / channels;
  // Samples have 8 bits, so that type conversion and scaling are a table of 256 values per channel.
  for (let c = 0; c < channels; c++) {
    const table = scalingTable(shape.datatype, scaling, channels, c);
    let out = shape.layout === 'NCHW' ? c * pixels : c;
    const step = shape.layout === 'NCHW' ? 1 : channels;
    for (let i = c; i < data.length; i += channels, out += step) result[out] = table[data[i] as number] as number;
  }
  return bytesOf(result);
}

/** Grey by OpenCV's weights. */
export function toGrey(picture: Picture): Picture {
  if (picture.channels === 1) return picture;
  const { data } = picture;
  const grey = new Uint8Array(picture.width * picture.height);
  for (let i = 0, o = 0; o < grey.length; i += 3, o++) {
    const sum = 9798 * (data[i] as number) + 19235 * (data[i + 1] as number) + 3735 * (data[i + 2] as number);
    grey[o] = (sum + 16384) >> 15;
  }
  return { width: picture.width, height: picture.height, channels: 1, data: grey };
}

/**
 * Every 8-bit sample converted and scaled. Arithmetic is that of the datatype: integers saturate after each step,
 * floats are rounded after each step.
 */
function scalingTable(datatype: PictureDatatype, scaling: Scaling, channels: number, channel: number): number[] {
  const [low, high] = LIMITS[datatype];
  const saturate = (value: number): number => Math.min(Math.max(value, low), high);
  const store = datatype === 'FP32' ? Math.fround : datatype === 'FP64' ? (v: number) => v : saturate;
  const integer = datatype !== 'FP32' && datatype !== 'FP64';
  const mean = VGG_MEANS[channels]?.[channel] ?? 0;
  return Array.from({ length: 256 }, (_, sample) => {
    const value = store(sample);
    if (scaling === 'NONE') return value;
    if (scaling === 'VGG') return store(value - mean);
    const scaled = value * (1 / 127.5);
    return store(store(integer ? Math.round(scaled) : scaled) - 1);
  });
}
