import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPbtxt } from './read-pbtxt.js';

const errorsOf = (text: string | Uint8Array) =>
  readPbtxt(text).errors.map(({ position, message }) => `${position.line}:${position.column}: ${message}`);

/** What a faulty text yields: every line that protobuf would print. */
const BAD: readonly (readonly [text: string, ...errors: string[]])[] = [
  // tokens
  ['max_batch_size: 0x', '1:19: "0x" must be followed by hex digits.'],
  [
    'max_batch_size: 08',
    '1:18: Numbers starting with leading zero must be in octal.',
    '1:17: Integer out of range (08)',
  ],
  [
    'max_batch_size: 8a\n',
    '1:18: Need space between number and identifier.',
    '2:1: Message type "inference.ModelConfig" has no field named "a".',
  ],
  ['sequence_batching { direct { minimum_slot_utilization: 1e } }', '1:58: "e" must be followed by exponent.'],
  [
    'sequence_batching { direct { minimum_slot_utilization: 1.2.3 } }',
    "1:59: Already saw decimal point or exponent; can't have another one.",
    '1:59: Expected identifier, got: .3',
  ],
  ['max_batch_size: 0x1.5', '1:20: Hex and octal numbers must be integers.', '1:20: Expected identifier, got: .5'],
  ['name.5: 1', '1:5: Need space between identifier and decimal point.', '1:5: Expected ":", found ".5".'],
  ['name: "x', '1:9: Unexpected end of string.'],
  [
    'name: "x\ny: 1',
    '1:9: String literals cannot cross line boundaries.',
    '2:2: Message type "inference.ModelConfig" has no field named "y".',
  ],
  ['name: "\\q"', '1:9: Invalid escape sequence in string literal.'],
  ['name: "\\xZZ"', '1:10: Expected hex digits for escape sequence.'],
  ['name: "\\u12"', '1:12: Expected four hex digits for \\u escape sequence.'],
  ['name: "\\U00200000"', '1:12: Expected eight hex digits up to 10ffff for \\U escape sequence'],
  ['name: "a" \u0001', '1:11: Invalid control characters encountered in text.'],
  ['max_batch_size: é', '1:17: Interpreting non ascii codepoint 195.', '1:17: Expected integer, got: \ufffd'],
  ['\ufeffname: "x"', '1:1: Interpreting non ascii codepoint 239.', '1:1: Expected identifier, got: \ufffd'],
  // fields
  ['{ "backend": "python" }', '1:1: Expected identifier, got: {'],
  ['backend: python', '1:10: Expected string, got: python'],
  ['foo: 1', '1:4: Message type "inference.ModelConfig" has no field named "foo".'],
  ['input { shape: [4] }', '1:14: Message type "inference.ModelInput" has no field named "shape".'],
  ['Input { }', '1:7: Message type "inference.ModelConfig" has no field named "Input".'],
  ['4: 8', '1:1: Expected identifier, got: 4'],
  ['max_batch_size: 4;;', '1:19: Expected identifier, got: ;'],
  ['backend "python"', '1:9: Expected ":", found ""python"".'],
  ['}', '1:1: Expected identifier, got: }'],
  ['input {', '1:8: Expected identifier, got: '],
  ['input { >', '1:9: Expected "}", found ">".'],
  ['input ( )', '1:7: Expected "{", found "(".'],
  ['[a.b] { }', '1:7: Extension "a.b" is not defined or is not an extension of "inference.ModelConfig".'],
  ['[a/b] { }', '1:3: Expected "]", found "/".'],
  // presence
  ['max_batch_size: 4 max_batch_size: 4', '1:33: Non-repeated field "max_batch_size" is specified multiple times.'],
  ['version_policy { } version_policy { }', '1:35: Non-repeated field "version_policy" is specified multiple times.'],
  [
    'dynamic_batching { } sequence_batching { }',
    '1:40: Field "sequence_batching" is specified along with field "dynamic_batching", another member of oneof "scheduling_choice".',
  ],
  ['parameters { key: "a" key: "b" }', '1:26: Non-repeated field "key" is specified multiple times.'],
  ['parameters { kez: "a" }', '1:17: Message type "inference.ModelConfig.ParametersEntry" has no field named "kez".'],
  [
    'cc_model_filenames { x: 1 }',
    '1:23: Message type "inference.ModelConfig.CcModelFilenamesEntry" has no field named "x".',
  ],
  // values
  ['max_batch_size: 8.0', '1:17: Expected integer, got: 8.0'],
  ['max_batch_size: -2147483649', '1:18: Integer out of range (2147483649)'],
  ['max_batch_size: +4', '1:17: Expected integer, got: +'],
  ['optimization { gather_kernel_buffer_threshold: -1 }', '1:48: Expected integer, got: -'],
  ['input { dims: 9223372036854775808 }', '1:15: Integer out of range (9223372036854775808)'],
  ['input { optional: 2 }', '1:19: Integer out of range (2)'],
  ['input { optional: yes }', '1:23: Invalid value for boolean field "optional". Value: "yes".'],
  ['input { optional: "true" }', '1:19: Expected identifier, got: "true"'],
  ['input { data_type: TYPE_FLOAT dims: 4 }', '1:31: Unknown enumeration value of "TYPE_FLOAT" for field "data_type".'],
  ['input { data_type: "TYPE_FP32" }', '1:20: Expected integer or identifier, got: "TYPE_FP32"'],
  ['sequence_batching { direct { minimum_slot_utilization: Half } }', '1:56: Expected double, got: half'],
  ['sequence_batching { direct { minimum_slot_utilization: 010 } }', '1:56: Expect a decimal number, got: 010'],
  // lists
  ['input { dims: [ 4, ] }', '1:20: Expected integer, got: ]'],
  ['input { dims: [ 4 4 ] }', '1:19: Expected ",", found "4".'],
  ['input { dims: [ [ 4 ] ] }', '1:17: Expected integer, got: ['],
  ['input [ { } { } ]', '1:13: Expected ",", found "{".'],
  ['input [ { }, ]', '1:14: Expected "{", found "]".'],
  ['max_batch_size: [ 4 ]', '1:17: Expected integer, got: ['],
  ['version_policy [ { } ]', '1:16: Expected "{", found "[".'],
  // columns: a tab moves to the next multiple of 8
  ['\tmax_batch_size:\t"8"', '1:25: Expected integer, got: "8"'],
];

for (const [text, ...errors] of BAD) {
  test(`refuses ${JSON.stringify(text)}`, () => assert.deepEqual(errorsOf(text), errors));
}

test('reads every form of a field', () => {
  const { config, errors } = readPbtxt(`
    name: "a" 'b' # a comment, then a literal on the next line
      "\\x41\\102\\u00e9\\U0001F600\\ud83d\\ude00\\n"
    max_batch_size: 0x10;
    input [ { name: "X" data_type: TYPE_FP32 dims: [ 1, -1 ] dims: 07 }, < name: "Y", data_type: 17 > ],
    input: { name: "Z" optional: t reshape: { } }
    instance_group { gpus: [] kind: KIND_CPU }
    version_policy: { specific { versions: [ 3, 1 ] } }
    sequence_batching { direct { minimum_slot_utilization: -Infinity } }
    parameters { value: { string_value: "v" } key: "k" }
    parameters { key: "k" value { string_value: "w" } }
    parameters { }
  `);
  assert.deepEqual(errors, []);
  assert.equal(config.name, 'abABé😀😀\n');
  assert.equal(config.max_batch_size, 16);
  assert.deepEqual(
    config.input.map(({ name, data_type, dims, optional }) => ({ name, data_type, dims, optional })),
    [
      { name: 'X', data_type: 11, dims: [1n, -1n, 7n], optional: false },
      { name: 'Y', data_type: 17, dims: [], optional: false },
      { name: 'Z', data_type: 0, dims: [], optional: true },
    ],
  );
  assert.deepEqual(config.input[2]?.reshape, { shape: [] });
  assert.deepEqual(config.version_policy?.specific?.versions, [3n, 1n]);
  assert.equal(config.sequence_batching?.direct?.minimum_slot_utilization, Number.NEGATIVE_INFINITY);
  assert.deepEqual(
    [...config.parameters],
    [
      ['k', { string_value: 'w' }],
      ['', { string_value: '' }],
    ],
  );
});

test('gives the place of every value', () => {
  const { positions } = readPbtxt(
    [
      'name: "m"',
      'input [ { name: "X"',
      '          dims: [ 1, 2 ] } ]',
      'input { dims: 3 dims: 4 }',
      'parameters { key: "k" value: {',
      '  string_value: "v" } }',
    ].join('\n'),
  );
  const at = (...path: (string | number)[]) => {
    const found = positions.get(path);
    return found && `${found.line}:${found.column}`;
  };
  assert.equal(at('name'), '1:7');
  assert.equal(at('input', 0), '2:9');
  assert.equal(at('input', 0, 'name'), '2:17');
  assert.equal(at('input', 0, 'dims', 1), '3:22');
  assert.equal(at('input', 1), '4:1');
  assert.equal(at('input', 1, 'dims', 1), '4:23');
  assert.equal(at('parameters', 'k'), '5:1');
  assert.equal(at('parameters', 'k', 'string_value'), '6:17');
  assert.equal(at('output'), undefined);
  assert.deepEqual(positions.nearest(['input', 1, 'data_type']), { line: 4, column: 1 });
});

test('a scalar may be given again after its zero value', () => {
  assert.equal(readPbtxt('max_batch_size: 0 max_batch_size: 4').config.max_batch_size, 4);
});

test('never throws, whatever the bytes', () => {
  const bytes = Buffer.from('input [ { name: "X\\u12" dims: [ 0x1, 9 ] } ] <>{}[]:;,.#\n"\'');
  for (let i = 0; i < 3000; i++) {
    const length = (i * 7919) % bytes.length;
    const mixed = Buffer.from(bytes.map((byte, k) => ((i * (k + 3)) % 11 === 0 ? (byte * (i + k)) & 0xff : byte)));
    readPbtxt(mixed.subarray(0, length));
  }
});
