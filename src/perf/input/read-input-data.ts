import { statSync } from 'node:fs';
import type { PerfModel } from '../model/perf-model.js';
import type { PerfOptions } from '../options/perf-options.js';
import { generateData } from './generate-data.js';
import type { InputData } from './input-data.js';
import { readDataDirectory } from './read-directory.js';
import { describeJsonData, readJsonData } from './read-json-data.js';

/** The data that the options ask for; the line about JSON files goes to `print`. */
export function readInputData(model: PerfModel, options: PerfOptions, print: (line: string) => void): InputData {
  const [first] = options.input.inputPaths;
  if (first === undefined) return generateData(model, options);
  if (statSync(first, { throwIfNoEntry: false })?.isDirectory()) return readDataDirectory(first, model);
  const data = readJsonData(options.input.inputPaths, model, { schedule: options.load.loadMode === 'FixedSchedule' });
  print(describeJsonData(data));
  return data;
}
