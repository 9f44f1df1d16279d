import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ModelMetadataResponse, ModelStatisticsResponse } from '../../protocol/proto/service/service.js';
import { readJson, readMessage } from './read-json.js';

const metadata = (body: string) =>
  readJson(Buffer.from(body), 'model metadata', (json) => readMessage(ModelMetadataResponse, json));
const statistics = (body: string) =>
  readJson(Buffer.from(body), 'model statistics', (json) => readMessage(ModelStatisticsResponse, json));

const BAD_RESPONSES: readonly (readonly [read: (body: string) => unknown, body: string, message: string])[] = [
  [metadata, '{', 'failed to parse model metadata: Missing a name for object member. at 1'],
  [metadata, '{} x', 'failed to parse model metadata: The document root must not be followed by other values. at 3'],
  [metadata, '[]', 'failed to parse model metadata: attempt to access JSON non-object as object'],
  [metadata, '{"name":1}', 'failed to parse model metadata: attempt to access JSON non-string as string'],
  [metadata, '{"versions":"1"}', 'failed to parse model metadata: attempt to access JSON non-array as array'],
  [metadata, '{"inputs":[1]}', 'failed to parse model metadata: attempt to access JSON non-object as object'],
  [
    metadata,
    '{"inputs":[{"shape":["x"]}]}',
    'failed to parse model metadata: attempt to access JSON non-number as double',
  ],
  [
    statistics,
    '{"model_stats":[{"inference_count":"3"}]}',
    'failed to parse model statistics: attempt to access JSON non-number as double',
  ],
  [
    statistics,
    '{"model_stats":[{"response_stats":[]}]}',
    'failed to parse model statistics: attempt to get members for non-object',
  ],
];

for (const [read, body, message] of BAD_RESPONSES) {
  test(`a response is refused: ${body}`, () => {
    assert.throws(() => read(body), { code: 'INTERNAL', message });
  });
}

test('members that are left out are empty, unknown ones are ignored', () => {
  assert.deepEqual(metadata('{"more":1}'), { name: '', versions: [], platform: '', inputs: [], outputs: [] });
});

test('64-bit integers keep their bits, maps and messages are read', () => {
  const body =
    '{"model_stats":[{"inference_count":18446744073709551615,"response_stats":{"0":{"success":{"count":2,"ns":3}}}}]}';
  const [stats] = statistics(body).model_stats;
  assert.equal(stats?.inference_count, 2n ** 64n - 1n);
  assert.deepEqual(stats?.response_stats.get('0')?.success, { count: 2n, ns: 3n });
});
