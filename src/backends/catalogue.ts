/** Every backend that this program knows. A new one is a directory with a `traits.ts`, and one line here. */
import type { BackendCatalogue } from '../contract/backend-traits.js';
import { openvino, pytorch, tensorflow, tensorrt } from './elsewhere/elsewhere.js';
import { identity } from './identity/traits.js';
import { onnxruntime } from './onnxruntime/traits.js';
import { python } from './python/traits.js';
import { repeat } from './repeat/traits.js';

/**
 * In the order in which Triton tries them on a model without a configuration: a directory with files of several backends
 * is a model of the first.
 */
export const CATALOGUE: BackendCatalogue = [
  tensorflow,
  tensorrt,
  onnxruntime,
  openvino,
  pytorch,
  python,
  identity,
  repeat,
];
