import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { emptyModelConfig } from '../../protocol/proto/model-config.js';
import { configFromJson, configToJson } from '../json/config-json.js';
import { arbitraryConfig } from './arbitrary-config.test.helper.js';
import { readPbtxt } from './read-pbtxt.js';
import { writePbtxt } from './write-pbtxt.js';

test('what writePbtxt writes, readPbtxt reads back equal', () => {
  fc.assert(
    fc.property(arbitraryConfig, (config) => {
      const { config: read, errors } = readPbtxt(writePbtxt(config));
      assert.deepEqual(errors, []);
      assert.deepEqual(read, config);
    }),
    { numRuns: 60 },
  );
});

test('what configToJson writes, configFromJson reads back equal', () => {
  fc.assert(
    fc.property(arbitraryConfig, (config) => {
      assert.deepEqual(configFromJson(configToJson(config)), config);
      JSON.parse(configToJson(config));
    }),
    { numRuns: 60 },
  );
});

test('text form: ascending numbers, two blanks, a value a line, nothing that is zero', () => {
  const { config } = readPbtxt(
    'backend: "b" name: "n\\n\\"" input { name: "X" dims: [ -1, 3 ] data_type: TYPE_FP32 reshape { } } max_batch_size: 0',
  );
  assert.equal(
    writePbtxt(config),
    [
      'name: "n\\n\\""',
      'input {',
      '  name: "X"',
      '  data_type: TYPE_FP32',
      '  dims: -1',
      '  dims: 3',
      '  reshape {',
      '  }',
      '}',
      'backend: "b"',
      '',
    ].join('\n'),
  );
  assert.equal(writePbtxt(emptyModelConfig()), '');
});

test('JSON form: numbers where the server shows numbers, strings where it leaves them', () => {
  const { config } = readPbtxt(`
    input { dims: 7 reshape { shape: 7 } }
    dynamic_batching { max_queue_delay_microseconds: 18446744073709551615
      priority_queue_policy { key: 2 value { default_timeout_microseconds: 5 } } }
    instance_group { secondary_devices { device_id: 9 } }
    version_policy { specific { versions: 4 } }`);
  const json = configToJson(config);
  assert.match(json, /"dims":\[7\],"reshape":\{"shape":\[7\]\}/);
  assert.match(json, /"max_queue_delay_microseconds":18446744073709551615/);
  assert.match(json, /"priority_queue_policy":\{"2":\{"timeout_action":"REJECT","default_timeout_microseconds":5/);
  assert.match(json, /"device_id":"9"/);
  assert.match(json, /"versions":\[4\]/);
});

/** Texts of protobuf's JSON reader. */
const BAD_JSON: readonly (readonly [text: string, message: string])[] = [
  ['not json', 'Unexpected token.\nnot json\n^'],
  ['', 'Unexpected end of string. Expected a value.\n\n^'],
  ['{"foo":1}', 'foo: Cannot find field.'],
  ['{"input":[{"foo":1}]}', '(input[0]) foo: Cannot find field.'],
  ['{"max_batch_size":"x"}', '(max_batch_size): invalid value "x" for type TYPE_INT32'],
  ['{"max_batch_size":2147483648}', '(max_batch_size): invalid value 2147483648 for type TYPE_INT32'],
  ['{"max_batch_size":[1]}', 'max_batch_size: Proto field is not repeating, cannot start list.'],
  [
    '{"input":[{"data_type":"FP32"}]}',
    '(input[0].data_type): invalid value "FP32" for type type.googleapis.com/inference.DataType',
  ],
  ['[]', ': Root element must be a message.'],
  ['{"name":"a" "b"}', 'Expected , or } after key:value pair.\n{"name":"a" "b"}\n            ^'],
];

for (const [text, message] of BAD_JSON) {
  test(`refuses JSON ${text}`, () => assert.throws(() => configFromJson(text), { code: 'INVALID_ARG', message }));
}

test('JSON: both kinds of names, integers as numbers or strings, enums by name or number', () => {
  const config = configFromJson(
    '{"maxBatchSize":"8","backend":"b","input":[{"name":"X","dataType":11,"dims":["3",4.0]}],"versionPolicy":{"all":{}},"output":null}',
  );
  assert.equal(config.max_batch_size, 8);
  assert.deepEqual(config.input[0]?.dims, [3n, 4n]);
  assert.equal(config.input[0]?.data_type, 11);
  assert.deepEqual(config.version_policy, { latest: undefined, all: {}, specific: undefined });
});
