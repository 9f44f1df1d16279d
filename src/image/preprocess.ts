/** From a decoded image to the bytes of a model's input, as Preprocess() of Triton's image_client.cc makes them. */
import { bytesOf } from '../protocol/typed-view.js';
import type { Image } from './image.js';
import { resizeImage } from './resize-image.js';

/** How samples are scaled: as they are, to [-1, 1], or minus the mean colour (123, 117, 104). */
export type Scaling = 'NONE' | 'INCEPTION' | 'VGG';

/** Order of the dimensions: rows of pixels, or one plane per channel. */
export type Layout = 'NHWC' | 'NCHW';

/** Datatypes of inputs that images can be made into. */
export const IMAGE_DATATYPES = ['UINT8', 'INT8', 'UINT16', 'INT16', 'INT32', 'FP32', 'FP64'] as const;
export type ImageDatatype = (typeof IMAGE_DATATYPES)[number];

/** What a model wants its images to be. */
export interface ImageShape {
  readonly width: number;
  readonly height: number;
  readonly channels: number;
  readonly layout: Layout;
  readonly datatype: ImageDatatype;
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

const LIMITS: Readonly<Record<ImageDatatype, readonly [low: number, high: number]>> = {
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
export function preprocess(image: Image, shape: ImageShape, scaling: Scaling): Uint8Array {
  const coloured = shape.channels === 1 ? toGrey(image) : image;
  const { data } = resizeImage(coloured, shape.width, shape.height);
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
export function toGrey(image: Image): Image {
  if (image.channels === 1) return image;
  const { data } = image;
  const grey = new Uint8Array(image.width * image.height);
  for (let i = 0, o = 0; o < grey.length; i += 3, o++) {
    const sum = 9798 * (data[i] as number) + 19235 * (data[i + 1] as number) + 3735 * (data[i + 2] as number);
    grey[o] = (sum + 16384) >> 15;
  }
  return { width: image.width, height: image.height, channels: 1, data: grey };
}

/**
 * Every 8-bit sample converted and scaled. Arithmetic is that of the datatype: integers saturate after each step,
 * floats are rounded after each step.
 */
function scalingTable(datatype: ImageDatatype, scaling: Scaling, channels: number, channel: number): number[] {
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
