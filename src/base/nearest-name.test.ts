import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareShapes } from '../modelconfig/complete/compare-shapes.js';
import { readPbtxt } from '../modelconfig/pbtxt/read-pbtxt.js';
import { syntaxRemedy } from '../modelconfig/pbtxt/syntax-remedy.js';
import { nearestName } from './nearest-name.js';

test('the name that was probably meant', () => {
  const known = ['INPUT0', 'INPUT1', 'image_tensor:0', 'x'];
  for (const [name, meant] of [
    ['input0', 'INPUT0'],
    ['INPTU1', 'INPUT1'],
    ['image_tensor', 'image_tensor:0'],
    ['imagetensor:0', 'image_tensor:0'],
    ['OUTPUT', undefined],
    ['y', 'x'],
    ['completely_other', undefined],
  ] as const) {
    assert.equal(nearestName(name, known), meant, name);
  }
});

test('two shapes side by side, with the axes marked that do not fit', () => {
  const compare = (a: number[], b: number[]): string =>
    compareShapes({ name: 'model', dims: a }, { name: 'config', dims: b }, (x, y) => x === y).join('\n');
  assert.equal(compare([-1, 3, 224], [-1, 3, 224]), 'model:  [-1, 3, 224]\nconfig: [-1, 3, 224]\n');
  assert.equal(compare([-1, 3, 224], [-1, 16, 224]), 'model:  [-1,  3, 224]\nconfig: [-1, 16, 224]\n             ^^');
  assert.equal(compare([1, 2], [1]), 'model:  [1, 2]\nconfig: [1]\n            ^');
  assert.equal(compare([], [7]), 'model:  []\nconfig: [7]\n         ^');
});

test('what protobuf complains about comes with what to do', () => {
  for (const [text, remedy] of [
    ['max_batchsize: 4', "Did you mean 'max_batch_size'?"],
    ['input { data_type: FP32 }', "Did you mean 'TYPE_FP32'?"],
    ['input { data_type: TYPE_FLOAT }', "Did you mean 'TYPE_FP32'?"],
    ['input { data_type: "TYPE_FP32" }', 'Write the name without quotes.'],
    ['instance_group { kind: KIND_CUP }', "Did you mean 'KIND_CPU'?"],
    ['input { name: "x" dims: [ 1, ] }', 'Remove the comma before the ].'],
    ['input [ { name: "x" } { name: "y" } ]', 'Write a comma between the elements of the list.'],
    ['dims: [ 3 ]', "'dims' belongs into ModelInput: is a bracket misplaced?"],
    ['max_batch_size 4', "Write a colon between the field's name and its value."],
    ['max_batch_size: "4"', 'Write the number without quotes.'],
    ['max_batch_size: 4 max_batch_size: 8', "Keep one 'max_batch_size'."],
    ['name: simple', 'Write the text in double quotes.'],
    ['{ "name": "x" }', 'This looks like JSON; a configuration is in protobuf text format: name: "..."'],
    ['input {', "The { of 'input' in line 1 is not closed: write } at its end."],
    ['max_batch_size:', 'Write the value behind the colon: a number.'],
    [
      'instance_group [\n  { count: 2\ninput [ ]',
      "The { of 'instance_group' in line 2 is not closed: write } before this.",
    ],
    [
      'instance_group [\n  { count: 2 }\ninput [ ]',
      "The [ of 'instance_group' in line 1 is not closed: write ] before this.",
    ],
    ['parameters { "k": "v" }', 'Write each entry as parameters { key: "..." value: { string_value: "..." } }.'],
    ['parameters { k: "v" }', 'Write each entry as parameters { key: "..." value: { string_value: "..." } }.'],
    ['metric_tags { "k": "v" }', 'Write each entry as metric_tags { key: "..." value: "..." }.'],
    ['dynamic_batching { } sequence_batching { }', "Keep either 'sequence_batching' or 'dynamic_batching'."],
    ['dynamic_batching { preserve_ordering: yes }', 'Write true or false.'],
    ['name: "a', 'Close the text with the quote that began it.'],
    ['\ufeffname: "a"', 'Save the file as UTF-8 without a byte order mark.'],
  ] as const) {
    const [error] = readPbtxt(text).errors;
    assert.equal(error && syntaxRemedy(error), remedy, `${text}: ${error?.message}`);
  }
});
