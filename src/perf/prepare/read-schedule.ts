import { readFileSync, statSync } from 'node:fs';
import { PerfError } from '../error/perf-error.js';
import type { JsonValue } from '../input/json-document.js';
import { isArray, isObject, parseJsonDocument, syntaxFault } from '../input/json-document.js';
import type { PerfOptions } from '../options/perf-options.js';

/** Reads the entries of a fixed schedule, whose number is the number of requests. Throws perf_analyzer's messages. */
export function readSchedule(options: PerfOptions): readonly JsonValue[] {
  if (options.load.requestCount > 0) {
    throw new PerfError(
      'error: Cannot specify `--request-count` when using `--fixed-schedule`. The request count will be equal to the number of requests in the input data minus the warmup request count.',
    );
  }
  const [path] = options.input.inputPaths;
  if (path === undefined) {
    throw new PerfError('error: When using `--fixed-schedule`, you must provide a dataset using `--input-data`.');
  }
  for (const each of options.input.inputPaths) {
    if (!statSync(each, { throwIfNoEntry: false })?.isFile()) {
      throw new PerfError(
        `error: '${each}' is not a file. When using \`--fixed-schedule\`, all paths passed to --input-data must be files.`,
      );
    }
  }
  const entries = options.input.inputPaths.flatMap((each) => entriesOf(each));
  if (entries.length === 0) {
    throw new PerfError(
      'error: The dataset provided is empty. When using `--fixed-schedule`, the dataset must contain at least one payload.',
    );
  }
  if (options.load.warmupRequestCount >= entries.length) {
    throw new PerfError(
      'error: The warmup request count must be less than the total number of payloads in the dataset.',
    );
  }
  return entries;
}

function entriesOf(path: string): readonly JsonValue[] {
  const document = parse(path);
  const data = isObject(document) && document.size === 1 ? document.get('data') : undefined;
  if (!isArray(data)) {
    throw new PerfError(
      `error: Input data JSON file must contain an object with a single 'data' member that is an array. Review JSON file: '${path}'`,
    );
  }
  return data;
}

function parse(path: string): JsonValue {
  const bytes = readFileSync(path);
  try {
    return parseJsonDocument(bytes);
  } catch (reason) {
    const fault = syntaxFault(reason, bytes);
    if (fault === undefined) throw reason;
    throw new PerfError(
      `error: RapidJSON parse error ${fault.code}. Review JSON file for formatting errors: '${path}'`,
    );
  }
}
