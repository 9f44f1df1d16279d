import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { atOnce } from '../steps.js';
import { JsonSyntaxError, SyntaxReason } from './json-error.js';
import { JsonKind, type JsonValue, MAX_VALUES } from './json-value.js';
import { parseJson, parseJsonSteps } from './parse-json.js';

const parse = (text: string) => parseJson(Buffer.from(text, 'latin1'));

/** The value as JavaScript sees it. */
function toJs(value: JsonValue): unknown {
  switch (value.kind) {
    case JsonKind.NULL:
      return null;
    case JsonKind.TRUE:
    case JsonKind.FALSE:
      return value.asBool();
    case JsonKind.STRING:
      return value.asString();
    case JsonKind.ARRAY:
      return value.asArray().map(toJs);
    case JsonKind.OBJECT:
      return Object.fromEntries(value.members().map(([name, member]) => [name.asString(), toJs(member)]));
    default:
      return value.asDouble();
  }
}

const { ESCAPE, HEX, QUOTE, SURROGATE, VALUE, NAME, COLON, TOO_BIG } = SyntaxReason;

const MALFORMED: readonly (readonly [text: string, reason: SyntaxReason, offset: number])[] = [
  ['', SyntaxReason.EMPTY, 0],
  [' \n', SyntaxReason.EMPTY, 2],
  ['\xef\xbb\xbf', SyntaxReason.EMPTY, 3],
  ['{} x', SyntaxReason.ROOT_FOLLOWED, 3],
  ['1 2', SyntaxReason.ROOT_FOLLOWED, 2],
  ['{', NAME, 1],
  ['{a:1}', NAME, 1],
  ['{"a":1,}', NAME, 7],
  ['{"a" 1}', COLON, 5],
  ['{"a"', COLON, 4],
  ['{"a":1 "b":2}', SyntaxReason.COMMA_OR_BRACE, 7],
  ['{"a":01}', SyntaxReason.COMMA_OR_BRACE, 6],
  ['{"a":[1,2}', SyntaxReason.COMMA_OR_BRACKET, 9],
  ['[1 2]', SyntaxReason.COMMA_OR_BRACKET, 3],
  ['[{} {}]', SyntaxReason.COMMA_OR_BRACKET, 4],
  ['{"inputs":[}', VALUE, 11],
  ['[1,]', VALUE, 3],
  ['{"a":+1}', VALUE, 5],
  ['{"a":-}', VALUE, 6],
  ['{"a":nan}', VALUE, 6],
  ['{"a":tru}', VALUE, 8],
  ['[falsy]', VALUE, 5],
  ['[nul', VALUE, 4],
  ['[NaM]', VALUE, 3],
  ['[Infi]', VALUE, 5],
  ['/**/{}', VALUE, 0],
  ["['a']", VALUE, 1],
  ['[.5]', VALUE, 1],
  ['{"a":1e999}', TOO_BIG, 5],
  ['[-1e999]', TOO_BIG, 1],
  [`[${'9'.repeat(400)}]`, TOO_BIG, 1],
  ['[0e400]', TOO_BIG, 1],
  [`[1${'0'.repeat(320)}e-50]`, TOO_BIG, 1],
  ['[NaN.]', SyntaxReason.FRACTION, 5],
  ['[-Infe]', SyntaxReason.EXPONENT, 6],
  ['{"a":1.}', SyntaxReason.FRACTION, 7],
  ['{"a":1e}', SyntaxReason.EXPONENT, 7],
  ['{"a":1e+}', SyntaxReason.EXPONENT, 8],
  ['{"a":"\\q"}', ESCAPE, 6],
  ['{"a":"\x01"}', ESCAPE, 6],
  ['{"a":"b\nc"}', ESCAPE, 7],
  ['["abc', QUOTE, 5],
  ['["abc\\"]', QUOTE, 8],
  ['["\\', ESCAPE, 2],
  ['["\\u12g4"]', HEX, 2],
  ['["\\ud800x"]', SURROGATE, 2],
  ['["\\ud800\\u0041"]', SURROGATE, 2],
  ['["\\ud800\\u00', HEX, 2],
];

describe('parseJson', () => {
  for (const [text, reason, offset] of MALFORMED) {
    // The same fault must be found at the same offset however the text around it is held.
    for (const [wrapped, shift] of [
      [text, 0],
      [`{"x":[{"y":[${text}`, 12],
    ] as const) {
      if (
        shift > 0 &&
        (reason === SyntaxReason.EMPTY || reason === SyntaxReason.ROOT_FOLLOWED || text.startsWith('\xef'))
      )
        continue;
      test(`says what is wrong with ${JSON.stringify(wrapped.slice(0, 60))}`, () => {
        assert.throws(
          () => parse(wrapped),
          (error: unknown) => {
            assert.ok(error instanceof JsonSyntaxError);
            assert.equal(error.message, `failed to parse the request JSON buffer: ${reason} at ${offset + shift}`);
            assert.equal(error.code, 'INTERNAL');
            return true;
          },
        );
      });
    }
  }

  test('reads what JSON.parse reads', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 9 }), fc.integer({ min: 0, max: 3 }), (value, indent) => {
        const text = JSON.stringify(value, undefined, indent);
        // Zero has no sign in an integer literal.
        assert.deepEqual(toJs(parseJson(Buffer.from(text))), JSON.parse(text.replaceAll('-0,', '0,')));
      }),
    );
  });

  test('refuses what JSON.parse refuses, apart from the bare words', () => {
    fc.assert(
      fc.property(
        fc.jsonValue(),
        fc.nat(),
        fc.constantFrom('', ',', '}', ']', '"', ':', '1', 'x', ' '),
        (value, at, text) => {
          const good = JSON.stringify(value);
          const cut = at % (good.length + 1);
          const changed = good.slice(0, cut) + text + good.slice(cut + 1);
          let expected: unknown;
          try {
            expected = JSON.parse(changed);
          } catch {
            assert.throws(() => parseJson(Buffer.from(changed)), JsonSyntaxError);
            return;
          }
          // Lone surrogates cannot be written as UTF-8 and numbers out of range are refused: both are not JSON.parse's view.
          if (/\\ud[89a-f]/i.test(changed) || /[eE]\+?\d{3}/.test(changed)) return;
          assert.deepEqual(toJs(parseJson(Buffer.from(changed))), expected);
        },
      ),
    );
  });

  test('takes a byte order mark, bare NaN and infinities', () => {
    // Numbers may overflow by their exponent, and even words may have a fraction and an exponent.
    assert.deepEqual(toJs(parse('[1000e306,-1.8e308,NaN.5,-Infe3]')), [Infinity, -Infinity, Number.NaN, -Infinity]);
    assert.deepEqual(toJs(parse('\xef\xbb\xbf[NaN,Inf,Infinity,-Inf,-Infinity]')), [
      Number.NaN,
      Number.POSITIVE_INFINITY,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
    ]);
  });

  test('keeps the bytes of strings that are no UTF-8', () => {
    const value = parse('["a\xff\\u00e9"]').asArray()[0]!;
    assert.deepEqual(Buffer.from(value.asStringBytes()), Buffer.from('a\xff\xc3\xa9', 'latin1'));
  });

  test('keeps order and repetition of names, and finds the first', () => {
    const value = parse('{"b":1,"a":2,"b":3}');
    assert.deepEqual(
      value.members().map(([name, member]) => [name.asString(), member.asDouble()]),
      [
        ['b', 1],
        ['a', 2],
        ['b', 3],
      ],
    );
    assert.equal(value.member('b')?.asDouble(), 1);
    assert.equal(parse('{"\\u0062":1}').member('b')?.asDouble(), 1);
  });

  test('distinguishes integers from other numbers and keeps all their digits', () => {
    const kinds = parse('[1,1.0,1e0,-0,18446744073709551615,-9223372036854775808]').asArray();
    assert.deepEqual(
      kinds.map(({ kind }) => kind),
      [JsonKind.INTEGER, JsonKind.REAL, JsonKind.REAL, JsonKind.INTEGER, JsonKind.INTEGER, JsonKind.INTEGER],
    );
    assert.equal(kinds[3]!.asDouble(), 0);
    assert.equal(kinds[4]!.asUint64(), 2n ** 64n - 1n);
    assert.equal(kinds[5]!.asInt64(), -(2n ** 63n));
  });

  test('reads lists of unsigned integers of any length of digits', () => {
    assert.deepEqual(parse('[ 1 ,16,\n0, 1000000000000000000 ]').asUints(100), [1, 16, 0, 1e18]);
    assert.deepEqual(parse('[]').asUints(100), []);
    for (const text of ['[-1]', '[1.5]', '["1"]', '[[1]]', '[1,18446744073709551616]']) {
      assert.throws(() => parse(text).asUints(100), {
        message: 'attempt to access JSON non-unsigned-integer as unsigned-integer',
      });
    }
    assert.throws(() => parse('1').asUints(100), { message: 'attempt to access JSON non-array as array' });
  });

  test('refuses what is nested deeper than a thousand levels, and needs no stack for less', () => {
    assert.ok(parse(`${'{"a":[{"b":'.repeat(300)}1${'}]}'.repeat(300)}`).isObject);
    for (const read of [parse, (text: string) => atOnce(parseJsonSteps(Buffer.from(text)))]) {
      assert.throws(() => read('['.repeat(1_000_000)), { message: /Nested deeper than 1000 levels\. at 1000$/ });
      assert.throws(() => read(`{"a":${'{"b":'.repeat(100_000)}`), { message: /Nested deeper than 1000 levels\./ });
    }
  });

  test('makes no more values than the limit, and says so at once', () => {
    // 30 MB of empty objects: 10,000,000 values of 190 bytes each would be 1.9 GB of heap.
    const bomb = Buffer.from(`[${'{},'.repeat(10_000_000)}{}]`);
    const before = process.memoryUsage().heapUsed;
    assert.throws(() => atOnce(parseJsonSteps(bomb)), { code: 'INVALID_ARG', message: /more than 100000 members/ });
    assert.throws(() => parseJson(bomb, MAX_VALUES), { code: 'INVALID_ARG' });
    assert.ok(process.memoryUsage().heapUsed - before < 200e6);
    // Values that nobody asks for are not made: numbers stay text, however many.
    const numbers = atOnce(parseJsonSteps(Buffer.from(`{"x":[${'1,'.repeat(500_000)}1],"y":[[],{}]}`)));
    assert.equal(numbers.required('x').length, 500_001);
    assert.equal(numbers.required('y').length, 2);
    assert.throws(() => numbers.required('x').asArray(), { code: 'INVALID_ARG' });
  });

  test('reads a document in steps as it does at once', () => {
    const long = 'x'.repeat(70_000);
    const part = fc.constantFrom(
      '"a"',
      `"${long}"`,
      `"${long}\\n"`,
      `[${'12,'.repeat(30_000)}1]`,
      '{"k":[{},[]]}',
      '',
      '{',
      '"',
      ' ',
    );
    fc.assert(
      fc.property(fc.array(part, { minLength: 5, maxLength: 12 }), (parts) => {
        const bytes = Buffer.from(`{"inputs":[${parts.join(',')}]${' '.repeat(140_000)}}`);
        const read = (parser: () => JsonValue): unknown => {
          try {
            return toJs(parser());
          } catch (error) {
            return (error as Error).message;
          }
        };
        assert.deepEqual(
          read(() => atOnce(parseJsonSteps(bytes))),
          read(() => parseJson(bytes)),
        );
      }),
      { numRuns: 30 },
    );
  });

  test('answers wrong questions in the words of the server', () => {
    const value = parse('{"s":"x","n":-1,"f":1.5,"l":[],"big":18446744073709551616}');
    const wrong: (readonly [() => unknown, string])[] = [
      [() => value.required('x'), "attempt to access non-existing object member 'x'"],
      [() => value.required('l').members(), 'attempt to get members for non-object'],
      [() => value.required('l').asObject(), 'attempt to access JSON non-object as object'],
      [() => value.required('n').asString(), 'attempt to access JSON non-string as string'],
      [() => value.required('n').asBool(), 'attempt to access JSON non-boolean as boolean'],
      [() => value.required('n').asUint64(), 'attempt to access JSON non-unsigned-integer as unsigned-integer'],
      [() => value.required('n').asUint(), 'attempt to access JSON non-unsigned-integer as unsigned-integer'],
      [() => value.required('big').asUint(), 'attempt to access JSON non-unsigned-integer as unsigned-integer'],
      [() => value.required('f').asInt64(), 'attempt to access JSON non-signed-integer as signed-integer'],
      [() => value.required('s').asDouble(), 'attempt to access JSON non-number as double'],
      [() => value.required('s').asArray(), 'attempt to access JSON non-array as array'],
    ];
    for (const [ask, message] of wrong) assert.throws(ask, { code: 'INTERNAL', message });
  });
});
