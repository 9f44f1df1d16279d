import { elementSize } from '../../protocol/datatype.js';
import { inputDataError } from '../error/perf-error.js';
import type { PerfModel } from '../model/perf-model.js';
import type { PerfOptions } from '../options/perf-options.js';
import type { InputData, StepTensor } from './input-data.js';
import { elementsOf, encodeStrings } from './input-data.js';

const CHARACTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ1234567890 .?!';

/** One step of random or zero data, used by every request. Non-string inputs all read the same bytes. */
export function generateData(model: PerfModel, { input: options }: Pick<PerfOptions, 'input'>): InputData {
  const wanted = model.inputs.filter((input) => !input.optional);
  const sizes = wanted.map((input) => {
    const elements = elementsOf(input);
    if (elements === undefined) {
      throw inputDataError(`input ${input.name} contains dynamic shape, provide shapes to send along with the request`);
    }
    if (input.isShapeTensor) {
      throw inputDataError(`can not generate data for shape tensor '${input.name}', user-provided data is needed.`);
    }
    return elements;
  });
  const longest = Math.max(0, ...wanted.map((input, i) => (sizes[i] as number) * elementSize(input.datatype)));
  const bytes = options.zeroInput ? new Uint8Array(longest) : randomBytes(longest);
  const inputs = wanted.map(({ name, datatype, shape }, i): StepTensor => {
    const count = sizes[i] as number;
    if (datatype !== 'BYTES') return { name, shape, data: bytes.subarray(0, count * elementSize(datatype)) };
    const strings = Array.from({ length: count }, () => options.stringData || randomString(options.stringLength));
    return { name, shape, data: encodeStrings(strings) };
  });
  return { streams: [[{ inputs }]] };
}

/** The same bytes on every run, so that runs can be compared (Marsaglia's xorshift, 32 bits). */
function randomBytes(length: number): Uint8Array {
  const words = new Uint32Array(Math.ceil(length / 4));
  let state = 0x9e3779b9;
  for (let i = 0; i < words.length; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[i] = state;
  }
  return new Uint8Array(words.buffer, 0, length);
}

function randomString(length: number): string {
  let result = '';
  for (let i = 0; i < length; i++) result += CHARACTERS[Math.floor(Math.random() * CHARACTERS.length)];
  return result;
}
