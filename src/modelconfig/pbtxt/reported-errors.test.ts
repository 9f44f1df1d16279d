import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPbtxt } from './read-pbtxt.js';
import { reportedErrors } from './reported-errors.js';

function reported(text: Uint8Array | string): string[] {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  return reportedErrors(readPbtxt(bytes).errors, bytes).map(
    ({ error: { token, message } }) => `${token.line}:${token.column}: ${message}`,
  );
}

test('errors point at the token that is wrong', () => {
  for (const [text, wanted] of [
    ['max_batchsize: 8', '1:1: Message type "inference.ModelConfig" has no field named "max_batchsize".'],
    ['input {\n  data_type: FP32 }', '2:14: Unknown enumeration value of "FP32" for field "data_type".'],
    ['max_batch_size: 4\nmax_batch_size: 8', '2:1: Non-repeated field "max_batch_size" is specified multiple times.'],
    ['parameters { k: "v" }', '1:14: Message type "inference.ModelConfig.ParametersEntry" has no field named "k".'],
    [
      'dynamic_batching { preserve_ordering: yes }',
      '1:39: Invalid value for boolean field "preserve_ordering". Value: "yes".',
    ],
    ['backend "x"', '1:9: Expected ":", found ""x"".'],
  ] as const) {
    assert.deepEqual(reported(text), [wanted]);
  }
});

test('one cause is one error', () => {
  // The open string takes the rest of its line with it; protobuf then also misses a field's name.
  assert.equal(readPbtxt('name: "m\n}').errors.length, 2);
  assert.deepEqual(reported('name: "m\n}'), ['1:9: String literals cannot cross line boundaries.']);
  // Two open strings are two causes.
  assert.equal(reported('name: "m\nbackend: "x\n').length, 2);
});

test('a file in UTF-16 is one error, with or without a byte order mark, in both byte orders', () => {
  const little = Buffer.from('name: "model"\nbackend: "identity"\n', 'utf16le');
  for (const bytes of [little, Buffer.from(little).swap16()]) {
    for (const marked of [bytes, Buffer.concat([Buffer.from(bytes === little ? [0xff, 0xfe] : [0xfe, 0xff]), bytes])]) {
      const found = reportedErrors(readPbtxt(marked).errors, marked);
      assert.equal(found.length, 1);
      assert.match(found[0]?.remedy ?? '', /^The file is in UTF-16, .* Save it as UTF-8 without a byte order mark\.$/);
    }
  }
});
