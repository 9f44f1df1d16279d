import { elementCount } from '../../protocol/datatype.js';
import type { PerfTensor } from '../model/perf-model.js';

/** Data of one input for a batch of one, as it goes over the wire. */
export interface StepTensor {
  readonly name: string;
  /** Without the batch dimension. */
  readonly shape: readonly number[];
  readonly data: Uint8Array;
}

/** Data of one request for a batch of one: the inputs that are sent, and the outputs to expect, if they are known. */
export interface InputStep {
  readonly inputs: readonly StepTensor[];
  readonly expected?: readonly StepTensor[];
  /** Time at which it is to be sent, milliseconds from the start (fixed schedules). */
  readonly timestamp?: number;
}

/** All data of a run. Sequences use one stream each; other models use the first one only. */
export interface InputData {
  readonly streams: readonly (readonly InputStep[])[];
}

/** Number of elements of a batch of one; undefined while a dimension is open. */
export function elementsOf(tensor: PerfTensor): number | undefined {
  return tensor.shape.some((dim) => dim < 0) ? undefined : elementCount(tensor.shape);
}

/** Strings in the wire form: each behind its length as 4 bytes, little-endian. */
export function encodeStrings(elements: readonly (string | Uint8Array)[]): Uint8Array {
  const chunks = elements.flatMap((element) => {
    const bytes = typeof element === 'string' ? Buffer.from(element) : element;
    const length = Buffer.alloc(4);
    length.writeUInt32LE(bytes.length);
    return [length, bytes];
  });
  return Buffer.concat(chunks);
}
