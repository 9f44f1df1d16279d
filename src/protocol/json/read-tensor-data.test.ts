import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { atOnce } from '../steps.js';
import { parseJson } from './parse-json.js';
import { readDouble } from './read-double.js';
import { readTensorData } from './read-tensor-data.js';
import { jsonDouble } from './write-json.js';

/** Number texts of every length and power, among them those whose nearest double is hard to find. */
const numberText = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.float({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc
    .tuple(
      fc.constantFrom('', '-'),
      fc.stringMatching(/^(0|[1-9]\d{0,24})$/),
      fc.stringMatching(/^(\.\d{1,25})?$/),
      fc.stringMatching(/^([eE][+-]?\d{1,2})?$/),
    )
    .map((parts) => parts.join('')),
  fc.constantFrom(
    '0.1',
    '1e22',
    '1e23',
    '9007199254740993',
    '2.2250738585072014e-308',
    '5e-324',
    '1.7976931348623157e308',
    '16777217.0',
    '16777217',
  ),
);

describe('readDouble', () => {
  test('reads every text as Number does', () => {
    fc.assert(
      fc.property(numberText, (text) => {
        const cursor = { bytes: Buffer.from(`${text},`), pos: 0 };
        // An integer literal -0 has no sign.
        const expected = /^-0+$/.test(text) ? 0 : Number(text);
        assert.equal(readDouble(cursor, false), expected);
        assert.equal(cursor.pos, text.length);
      }),
      { numRuns: 2000 },
    );
  });

  test('finds the same float as by way of the nearest double', () => {
    fc.assert(
      fc.property(numberText, (text) => {
        const expected = /^-0+$/.test(text) ? 0 : Math.fround(Number(text));
        assert.equal(Math.fround(readDouble({ bytes: Buffer.from(`${text},`), pos: 0 }, true)), expected);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('jsonDouble', () => {
  test('prints like the server', () => {
    const texts = [1, -0, 0.1, 12340000000, 1e30, 1.5e-7, 1e21, 1e20, 1e-6, 123456.789, -2.5e-10, Math.fround(0.1)].map(
      jsonDouble,
    );
    assert.deepEqual(texts, [
      '1.0',
      '-0.0',
      '0.1',
      '12340000000.0',
      '1e30',
      '1.5e-7',
      '1e21',
      '100000000000000000000.0',
      '0.000001',
      '123456.789',
      '-2.5e-10',
      '0.10000000149011612',
    ]);
  });
});

describe('readTensorData', () => {
  test('keeps 64-bit integers exact', () => {
    const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    fc.assert(
      fc.property(fc.array(int64, { maxLength: 20 }), (values) => {
        const target = new BigInt64Array(values.length);
        atOnce(
          readTensorData(
            parseJson(Buffer.from(`[ ${values.join(' , ')} ]`)),
            'INT64',
            values.length,
            new Uint8Array(target.buffer),
          ),
        );
        assert.deepEqual([...target], values);
      }),
    );
  });

  test('reads a million numbers in a blink', () => {
    const values = Float32Array.from({ length: 1_000_000 }, (_, i) => Math.fround(i * 0.37 - 1000));
    const target = new Float32Array(values.length);
    atOnce(
      readTensorData(
        parseJson(Buffer.from(`[${values.join(',')}]`)),
        'FP32',
        values.length,
        new Uint8Array(target.buffer),
      ),
    );
    assert.deepEqual(target, values);
  });
});
