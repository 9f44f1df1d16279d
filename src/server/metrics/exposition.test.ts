import assert from 'node:assert/strict';
import { test } from 'node:test';
import { familyText, formatValue, labelText } from './exposition.js';

test('values are printed as %.16g', () => {
  const cases: [value: number, text: string][] = [
    [161, '161'],
    [0.3, '0.3'],
    [1 / 3, '0.3333333333333333'],
    [1e15, '1000000000000000'],
    [1e16, '1e+16'],
    [0.00001, '1e-05'],
    [0.0001, '0.0001'],
    [-0, '-0'],
    [0, '0'],
    [123456.789, '123456.789'],
    [Number.NaN, 'Nan'],
    [Number.POSITIVE_INFINITY, '+Inf'],
    [Number.NEGATIVE_INFINITY, '-Inf'],
  ];
  for (const [value, text] of cases) assert.equal(formatValue(value), text);
});

test('labels are sorted and escaped, families without samples are left out', () => {
  assert.equal(labelText({ version: '1', model: 'a"\\\nb' }), '{model="a\\"\\\\\\nb",version="1"}');
  assert.equal(labelText({}), '');
  assert.equal(familyText('x', 'counter', 'Help', []), '');
  assert.equal(familyText('x', 'gauge', 'Help', [['', 0.5]]), '# HELP x Help\n# TYPE x gauge\nx 0.5\n');
});
