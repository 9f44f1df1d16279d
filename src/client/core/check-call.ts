import { invalidArg } from '../../base/error.js';
import { DATATYPES, elementCount, elementSize, isDatatype } from '../../protocol/datatype.js';
import type { InferCall, InferInput, InferRequestedOutput, SharedMemoryReference } from '../api/client.js';

/** Most that an unsigned 64-bit integer of the protocol holds. */
const MAX_UINT64 = 2n ** 64n - 1n;

/**
 * Checks what a program passes to `infer`, `prepare` and `send`, where a mistake would otherwise send bytes that mean
 * something else or fail far from its cause. Throws INVALID_ARG that names the member. Cost: linear in the number of
 * inputs and outputs; no element of a tensor is looked at.
 */
export function checkCall(call: InferCall): void {
  if (typeof call !== 'object' || call === null) throw invalidArg(`a call is an object, got ${typeof call}`);
  requireName(call.modelName, 'modelName');
  optionalString(call.modelVersion, 'modelVersion', 'a version is passed as a string, such as "1"');
  optionalString(call.id, 'id');
  if (!Array.isArray(call.inputs)) throw invalidArg(`inputs: expected a list of tensors, got ${typeof call.inputs}`);
  call.inputs.forEach(checkInput);
  if (call.outputs !== undefined) {
    if (!Array.isArray(call.outputs)) throw invalidArg('outputs: expected a list such as [{ name: "OUTPUT0" }]');
    call.outputs.forEach(checkOutput);
  }
  if (typeof call.sequenceId !== 'string') optionalUint64(call.sequenceId, 'sequenceId');
  optionalUint64(call.priority, 'priority');
  optionalUint64(call.timeoutMicroseconds, 'timeoutMicroseconds');
}

function checkInput(input: InferInput, index: number): void {
  const where = `inputs[${index}]`;
  requireName(input?.name, `${where}.name`);
  const { name, datatype, shape, data, sharedMemory } = input;
  const what = `input '${name}'`;
  if (!isDatatype(datatype)) {
    throw invalidArg(`${what}: '${String(datatype)}' is not a datatype; there are ${DATATYPES.join(', ')}`);
  }
  if (!Array.isArray(shape) || !shape.every((dim) => Number.isSafeInteger(dim) && dim >= 0)) {
    throw invalidArg(`${what}: a shape is a list of whole numbers that are not negative, got ${JSON.stringify(shape)}`);
  }
  if (sharedMemory !== undefined) {
    if (data !== undefined) throw invalidArg(`${what} has both data and a shared memory reference; give one of them`);
    checkReference(sharedMemory, what);
    return;
  }
  // Its absence is reported where the request is encoded.
  if (data === undefined) return;
  if (!(data instanceof Uint8Array)) {
    throw invalidArg(`${what}: data is a Uint8Array in wire form; makeTensor makes a tensor from other values`);
  }
  const size = elementSize(datatype);
  if (size > 0 && data.length !== size * elementCount(shape)) {
    throw invalidArg(
      `${what} of datatype ${datatype} and shape [${shape.join(',')}] needs ${size * elementCount(shape)} bytes, got ${data.length}`,
    );
  }
}

function checkOutput(output: InferRequestedOutput, index: number): void {
  requireName(output?.name, `outputs[${index}].name`);
  const { name, classification, sharedMemory } = output;
  if (classification !== undefined && !(Number.isSafeInteger(classification) && classification >= 0)) {
    throw invalidArg(`output '${name}': classification is a number of classes, got ${String(classification)}`);
  }
  if (sharedMemory !== undefined) checkReference(sharedMemory, `output '${name}'`);
}

function checkReference({ region, byteSize, offset = 0 }: SharedMemoryReference, what: string): void {
  requireName(region, `${what}: sharedMemory.region`);
  for (const [member, value] of [
    ['byteSize', byteSize],
    ['offset', offset],
  ] as const) {
    if (!Number.isSafeInteger(value) || value < 0) {
      throw invalidArg(`${what}: sharedMemory.${member} is a number of bytes, got ${String(value)}`);
    }
  }
}

function requireName(value: unknown, where: string): void {
  if (typeof value !== 'string' || value === '') {
    throw invalidArg(`${where}: expected a name, got ${value === '' ? 'an empty string' : typeof value}`);
  }
}

function optionalString(value: unknown, where: string, hint = 'expected a string'): void {
  if (value !== undefined && typeof value !== 'string') throw invalidArg(`${where}: ${hint}, got ${typeof value}`);
}

function optionalUint64(value: unknown, where: string): void {
  if (value !== undefined) requireUint64(value, where);
}

/** The value as a bigint. Throws INVALID_ARG that names `where` when no unsigned 64-bit integer holds it. */
export function requireUint64(value: unknown, where: string): bigint {
  if (typeof value === 'bigint' && value >= 0n && value <= MAX_UINT64) return value;
  if (Number.isSafeInteger(value) && Number(value) >= 0) return BigInt(value as number);
  throw invalidArg(
    `${where}: expected a whole number from 0 to 2^64-1 (a bigint beyond 2^53), got ${typeof value === 'string' ? `the string '${value}'` : String(value)}`,
  );
}
