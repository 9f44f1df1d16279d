import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { elementSize } from '../../protocol/datatype.js';
import { inputDataError } from '../error/perf-error.js';
import type { PerfModel, PerfTensor } from '../model/perf-model.js';
import type { InputData, StepTensor } from './input-data.js';
import { elementsOf, encodeStrings } from './input-data.js';

/** Reads a directory with one file per input (and, to check responses, per output): one step, used by every request. */
export function readDataDirectory(directory: string, model: PerfModel): InputData {
  const known = new Set([...model.inputs, ...model.outputs].map((tensor) => tensor.name));
  const files = new Set(readdirSync(directory));
  for (const file of files) {
    if (!known.has(file)) {
      throw inputDataError(`Provided data file '${file}' does not correspond to a valid model input or output.`);
    }
  }
  const inputs = model.inputs
    .filter((input) => !input.optional || files.has(input.name))
    .map((input) => readTensor(directory, input, 'input'));
  const expected = model.outputs
    .filter((output) => files.has(output.name))
    .map((output) => readTensor(directory, output, 'output'));
  return { streams: [[expected.length === 0 ? { inputs } : { inputs, expected }]] };
}

function readTensor(directory: string, tensor: PerfTensor, kind: 'input' | 'output'): StepTensor {
  const { name, datatype, shape } = tensor;
  const path = join(directory, name);
  let content: Buffer;
  try {
    content = readFileSync(path);
  } catch {
    throw inputDataError(`failed to open file '${path}'`);
  }
  if (content.length === 0) throw inputDataError(`file '${path}' is empty`);
  const count = elementsOf(tensor);
  if (count === undefined) {
    throw inputDataError(`${kind} ${name} contains dynamic shape, provide shapes to send along with the request`);
  }
  if (datatype !== 'BYTES') {
    const size = count * elementSize(datatype);
    if (content.length !== size) {
      throw inputDataError(`provided data for ${kind} ${name} has byte size ${content.length}, expect ${size}`);
    }
    return { name, shape, data: content };
  }
  const strings = content.toString('latin1');
  const lines = (strings.endsWith('\n') ? strings.slice(0, -1) : strings).split('\n');
  if (lines.length !== count) {
    throw inputDataError(`provided data for ${kind} ${name} has ${lines.length} elements, expect ${count}`);
  }
  return { name, shape, data: encodeStrings(lines.map((line) => Buffer.from(line, 'latin1'))) };
}
