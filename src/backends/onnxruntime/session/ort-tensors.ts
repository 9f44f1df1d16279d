/** Tensors of the engine to tensors of onnxruntime and back. */

import { TritonError } from '../../../base/error.js';
import type { Datatype } from '../../../protocol/datatype.js';
import type { Tensor } from '../../../protocol/tensor.js';
import { aligned } from '../../batch/gather.js';
import { loadOrtBinding, type OrtTensor } from './ort-binding.js';

type NumericArray = new (buffer: ArrayBufferLike, offset: number, length: number) => ArrayBufferView;

interface OrtType {
  readonly type: string;
  readonly array: NumericArray;
  readonly size: number;
}

/** Types of the binding; BF16 is missing because the binding cannot carry it, BYTES are handled apart. */
const TYPES: Readonly<Partial<Record<Datatype, OrtType>>> = {
  BOOL: { type: 'bool', array: Uint8Array, size: 1 },
  UINT8: { type: 'uint8', array: Uint8Array, size: 1 },
  UINT16: { type: 'uint16', array: Uint16Array, size: 2 },
  UINT32: { type: 'uint32', array: Uint32Array, size: 4 },
  UINT64: { type: 'uint64', array: BigUint64Array, size: 8 },
  INT8: { type: 'int8', array: Int8Array, size: 1 },
  INT16: { type: 'int16', array: Int16Array, size: 2 },
  INT32: { type: 'int32', array: Int32Array, size: 4 },
  INT64: { type: 'int64', array: BigInt64Array, size: 8 },
  FP16: { type: 'float16', array: Uint16Array, size: 2 },
  FP32: { type: 'float32', array: Float32Array, size: 4 },
  FP64: { type: 'float64', array: Float64Array, size: 8 },
};

const DATATYPES = new Map<string, Datatype>([['string', 'BYTES']]);
for (const [datatype, { type }] of Object.entries(TYPES)) DATATYPES.set(type, datatype as Datatype);

/** True when the binding can carry tensors of the datatype. */
export function isOrtDatatype(datatype: Datatype): boolean {
  return datatype === 'BYTES' || TYPES[datatype] !== undefined;
}

/** Makes the runtime's tensor on the same bytes (copied only when they are not aligned; strings are decoded). */
export function toOrtTensor(tensor: Tensor): OrtTensor {
  const { tensor: OrtTensorClass } = loadOrtBinding();
  if (tensor.datatype === 'BYTES') {
    return new OrtTensorClass('string', decodeStrings(tensor), tensor.shape);
  }
  const type = TYPES[tensor.datatype];
  if (type === undefined) {
    throw new TritonError('UNSUPPORTED', `onnxruntime cannot take tensors of datatype ${tensor.datatype} here`);
  }
  const bytes = aligned(tensor);
  const data = new type.array(bytes.buffer, bytes.byteOffset, bytes.byteLength / type.size);
  return new OrtTensorClass(type.type, data, tensor.shape);
}

/** The engine's tensor on the bytes of the runtime's (strings are encoded). */
export function fromOrtTensor(name: string, tensor: OrtTensor): Tensor {
  const datatype = DATATYPES.get(tensor.type);
  if (datatype === undefined) {
    throw new TritonError('UNSUPPORTED', `onnxruntime gave output '${name}' with the datatype ${tensor.type}`);
  }
  if (datatype === 'BYTES') {
    return { name, datatype, shape: tensor.dims, data: encodeStrings(tensor.data as readonly string[]) };
  }
  const { buffer, byteOffset, byteLength } = tensor.data as ArrayBufferView;
  return { name, datatype, shape: tensor.dims, data: new Uint8Array(buffer, byteOffset, byteLength) };
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Elements as JavaScript strings. The runtime takes C strings: an element ends at its first NUL, as with Triton.
 * The binding takes text: bytes that are not UTF-8 cannot be handed over unchanged and are refused.
 */
function decodeStrings(tensor: Tensor): string[] {
  const { data, name } = tensor;
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const result: string[] = [];
  for (let position = 0; position < data.byteLength; ) {
    const length = view.getUint32(position, true);
    position += 4;
    const element = data.subarray(position, position + length);
    position += length;
    const end = element.indexOf(0);
    try {
      result.push(utf8.decode(end < 0 ? element : element.subarray(0, end)));
    } catch (cause) {
      throw new TritonError(
        'INVALID_ARG',
        `string ${result.length} of inference input '${name}' is not valid UTF-8, which onnxruntime cannot take here`,
        { cause },
      );
    }
  }
  return result;
}

function encodeStrings(strings: readonly string[]): Uint8Array {
  let size = 0;
  const lengths = strings.map((text) => {
    const length = Buffer.byteLength(text);
    size += 4 + length;
    return length;
  });
  const data = Buffer.allocUnsafeSlow(size);
  let position = 0;
  for (let i = 0; i < strings.length; i++) {
    position = data.writeUInt32LE(lengths[i]!, position);
    position += data.write(strings[i]!, position);
  }
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}
