/** ONNX's element types and what they are called in configurations and on the wire. */
import { configValueOf, type Datatype } from '../protocol/datatype.js';

/** Names of TensorProto.DataType by number, as Triton's messages print them. */
const ELEMENT_TYPE_NAMES = [
  'UNDEFINED',
  'FLOAT',
  'UINT8',
  'INT8',
  'UINT16',
  'INT16',
  'INT32',
  'INT64',
  'STRING',
  'BOOL',
  'FLOAT16',
  'DOUBLE',
  'UINT32',
  'UINT64',
  'COMPLEX64',
  'COMPLEX128',
  'BFLOAT16',
  'FLOAT8E4M3FN',
  'FLOAT8E4M3FNUZ',
  'FLOAT8E5M2',
  'FLOAT8E5M2FNUZ',
  'UINT4',
  'INT4',
  'FLOAT4E2M1',
  'FLOAT8E8M0',
  'UINT2',
  'INT2',
] as const;

const DATATYPE_OF: Readonly<Record<string, Datatype>> = {
  FLOAT: 'FP32',
  UINT8: 'UINT8',
  INT8: 'INT8',
  UINT16: 'UINT16',
  INT16: 'INT16',
  INT32: 'INT32',
  INT64: 'INT64',
  STRING: 'BYTES',
  BOOL: 'BOOL',
  FLOAT16: 'FP16',
  DOUBLE: 'FP64',
  UINT32: 'UINT32',
  UINT64: 'UINT64',
  BFLOAT16: 'BF16',
};

/** `FLOAT`, `INT64`, ...: the name of an element type of ONNX; `UNDEFINED` for numbers that ONNX does not know. */
export function elementTypeName(elementType: number): string {
  return ELEMENT_TYPE_NAMES[elementType] ?? 'UNDEFINED';
}

/** The datatype on the wire of an element type; undefined for those that have none (complex, 8-bit floats, 4-bit). */
export function datatypeOfElementType(elementType: number): Datatype | undefined {
  const name = elementTypeName(elementType);
  return Object.hasOwn(DATATYPE_OF, name) ? DATATYPE_OF[name] : undefined;
}

/** The number of an element type in the configuration's enum DataType; 0 (TYPE_INVALID) for those without one. */
export function configTypeOfElementType(elementType: number): number {
  const datatype = datatypeOfElementType(elementType);
  return datatype === undefined ? 0 : configValueOf(datatype);
}
