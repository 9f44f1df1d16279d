import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { PerfError } from '../error/perf-error.js';
import type { PerfModel, PerfTensor } from '../model/perf-model.js';
import { describeJsonData, readJsonData } from './read-json-data.js';

const folder = mkdtempSync(join(tmpdir(), 'perf-'));
after(() => rmSync(folder, { recursive: true }));
let files = 0;

function file(content: unknown): string {
  const path = join(folder, `${files++}.json`);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

function tensor(name: string, datatype: PerfTensor['datatype'], shape: number[], optional = false): PerfTensor {
  return { name, datatype, shape, optional, isShapeTensor: false };
}

function model(...inputs: PerfTensor[]): PerfModel {
  return {
    name: 'm',
    version: '',
    inputs,
    outputs: [tensor('OUT', 'INT32', [2])],
    maxBatchSize: 8,
    decoupled: false,
    scheduler: 'NONE',
    composing: new Map(),
    responseCache: false,
    topLevelCache: false,
  };
}

const INTS = model(tensor('A', 'INT32', [2]));

function read(content: unknown, of = INTS) {
  return readJsonData([file(content)], of, { schedule: false });
}

test('objects are steps of one stream, arrays are streams, files add up', () => {
  const steps = file({ data: [{ A: [1, 2] }, { A: { content: [3, 4], shape: [2] } }] });
  const data = readJsonData([steps, steps], INTS, { schedule: false });
  assert.equal(describeJsonData(data), ' Successfully read data for 1 stream/streams with 4 step/steps.');
  assert.deepEqual(data.streams[0]?.[1]?.inputs[0]?.data, new Uint8Array([3, 0, 0, 0, 4, 0, 0, 0]));
  const streams = read({ data: [[{ A: [1, 2] }], [{ A: [1, 2] }]] });
  assert.equal(describeJsonData(streams), ' Successfully read data for 2 stream/streams.');
});

test('b64 and strings give the bytes of the wire', () => {
  const { streams } = read({ data: [{ A: { b64: 'AQAAAAIAAAA=' } }] });
  assert.deepEqual([...(streams[0]?.[0]?.inputs[0]?.data ?? [])], [1, 0, 0, 0, 2, 0, 0, 0]);
  const text = read({ data: [{ S: ['ab', ''] }] }, model(tensor('S', 'BYTES', [2])));
  assert.deepEqual([...(text.streams[0]?.[0]?.inputs[0]?.data ?? [])], [2, 0, 0, 0, 97, 98, 0, 0, 0, 0]);
});

const FAULTS: readonly [content: unknown, text: string, of?: PerfModel][] = [
  [
    '{"data":[{"A":[1,2,}]}',
    'cb::Error  : 3\nOffset : 19\nerror: Failed to init manager inputs: failed to parse the specified json file for reading provided data',
  ],
  [
    '',
    'cb::Error  : 1\nOffset : 0\nerror: Failed to init manager inputs: failed to parse the specified json file for reading provided data',
  ],
  [{}, "The json file doesn't contain data field"],
  [{ data: [{ A: [1] }] }, 'mismatch in the data provided for A. Expected: 8 bytes, Got: 4 bytes'],
  [{ data: [{ A: [1, true] }] }, 'unable to find int32_t data in json'],
  [{ data: [{ A: [1, 2], B: [1] }] }, "The input or output 'B' is not found in the model configuration"],
  [{ data: [{}] }, 'missing tensor A ( Location stream id: 0, step id: 0)'],
  [{ data: [{ A: 5 }] }, 'Input data file is malformed.'],
  [{ data: [{ A: {} }] }, 'missing content field. ( Location stream id: 0, step id: 0)'],
  [
    { data: [{ A: { content: [1, 2, 3], shape: [3] } }] },
    'The supplied shape of [3] for input "A" is incompatible with the model\'s input shape of [2]',
  ],
  [
    { data: [{ A: [1, 2] }, [{ A: [1, 2] }]] },
    'Inconsistency in input-data provided. Can not have a combination of objects and arrays inside of the Data array',
  ],
  [
    { data: [{ A: [1, 2] }], validation_data: [] },
    "The 'validation_data' field doesn't align with 'data' field in the json file",
  ],
  [{ data: [{ A: [1, 2] }], validation_data: [{}] }, 'missing tensor OUT ( Location stream id: 0, step id: 0)'],
  [{ data: [{ F: [1] }] }, 'unable to find float data in json', model(tensor('F', 'FP32', [1]))],
  [
    { data: [{ H: [1.5] }] },
    'Can not use explicit tensor description for fp16 datatype',
    model(tensor('H', 'FP16', [1])),
  ],
  [
    { data: [{ V: [1] }] },
    'The variable-sized tensor "V" with model shape [-1] needs to have its shape fully defined. See the --shape option.',
    model(tensor('V', 'INT32', [-1])),
  ],
];

test('faults in input files have their texts', () => {
  for (const [content, text, of] of FAULTS) {
    assert.throws(
      () => read(content, of),
      (reason) =>
        reason instanceof PerfError && reason.message.replace(/^error: Failed to init manager inputs: /, '') === text,
      text,
    );
  }
});

test('floats may be NaN and infinite, optional inputs may be missing', () => {
  const { streams } = read(
    '{"data":[{"F":[NaN, Inf]}]}',
    model(tensor('F', 'FP64', [2]), tensor('O', 'INT32', [1], true)),
  );
  assert.equal(streams[0]?.[0]?.inputs.length, 1);
});
