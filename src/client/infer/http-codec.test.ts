import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeHttpInferResponse } from './http-codec.js';

const output = (members: string): string => `{"outputs":[{"name":"O","shape":[2],${members}}]}`;
const RESPONSE = "unable to parse the server's response: ";

const BAD_RESPONSES: readonly (readonly [body: string, headerLength: number | undefined, message: string])[] = [
  ['{}', 10, `${RESPONSE}inference header size should be in range (0, 2), got: 10`],
  ['{}', -1, `${RESPONSE}inference header size should be in range (0, 2), got: -1`],
  ['', undefined, `${RESPONSE}failed to parse the request JSON buffer: The document is empty. at 0`],
  ['[]', undefined, `${RESPONSE}attempt to access JSON non-object as object`],
  ['{"outputs":', undefined, `${RESPONSE}failed to parse the request JSON buffer: Invalid value. at 11`],
  ['{"outputs":{}}', undefined, 'attempt to access JSON non-array as array'],
  ['{"outputs":[{"shape":[1],"datatype":"INT8"}]}', undefined, "attempt to access non-existing object member 'name'"],
  [output('"datatype":"INT"'), undefined, `${RESPONSE}output 'O' has unknown datatype 'INT'`],
  [
    output('"datatype":"INT32","data":[1,true]'),
    undefined,
    "Unable to parse 'data': attempt to access JSON non-signed-integer as signed-integer",
  ],
  [output('"datatype":"INT32","data":[1]'), undefined, "Failed to parse 'data' field: shape does not match true shape"],
  [output('"datatype":"INT32","data":7'), undefined, 'attempt to access JSON non-array as array'],
  [output('"datatype":"FP16","data":[1,2]'), undefined, `${RESPONSE}output 'O' of datatype FP16 comes as JSON`],
  [
    output('"datatype":"INT32","parameters":{"binary_data_size":8}'),
    undefined,
    `${RESPONSE}unexpected size for output, expecting 8 additional bytes`,
  ],
];

for (const [body, headerLength, message] of BAD_RESPONSES) {
  test(`a response is refused: ${body || '(empty)'}, JSON of ${headerLength ?? 'all'} bytes`, () => {
    assert.throws(() => decodeHttpInferResponse(Buffer.from(body), headerLength), { code: 'INTERNAL', message });
  });
}

test('an output without data lies in shared memory: its data are empty', () => {
  const result = decodeHttpInferResponse(Buffer.from(output('"datatype":"INT32"')), undefined);
  assert.deepEqual(result.output('O'), { name: 'O', datatype: 'INT32', shape: [2], data: new Uint8Array(0) });
  assert.equal(result.output('P'), undefined);
});
