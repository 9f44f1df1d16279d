import { readFile } from 'node:fs/promises';
import { TritonError } from '../base/error.js';
import { decodeImage } from './decode-image.js';
import { preprocess, type Scaling } from './preprocess.js';

const SCALINGS: readonly string[] = ['NONE', 'INCEPTION', 'VGG'];

/**
 * The tensor that a image becomes, without a server: arguments FILE WIDTH HEIGHT SCALING LAYOUT, result raw
 * little-endian FP32 of three channels. For comparing the preprocessing with that of other programs. Throws
 * INVALID_ARG for arguments that are not understood and for files that are not images.
 */
export async function imageTensor(args: readonly string[]): Promise<Uint8Array> {
  const [file, width, height, scaling, layout] = args;
  if (
    file === undefined ||
    args.length !== 5 ||
    !(Number(width) > 0) ||
    !(Number(height) > 0) ||
    !SCALINGS.includes(scaling as string) ||
    (layout !== 'NHWC' && layout !== 'NCHW')
  ) {
    throw new TritonError('INVALID_ARG', '--tensors takes FILE WIDTH HEIGHT NONE|INCEPTION|VGG NHWC|NCHW');
  }
  const image = await decodeImage(await readFile(file));
  if (image === undefined) throw new TritonError('INVALID_ARG', `unable to decode image ${file}`);
  const shape = { width: Number(width), height: Number(height), channels: 3, layout, datatype: 'FP32' } as const;
  return preprocess(image, shape, scaling as Scaling);
}
