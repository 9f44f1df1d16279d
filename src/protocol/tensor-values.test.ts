import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { decodeBytes, encodeBytes } from './bytes.js';
import { fromBf16, fromFp16, toBf16, toFp16 } from './half.js';
import { makeTensor, tensorStrings, tensorValues } from './tensor-values.js';
import { typedView } from './typed-view.js';

describe('BYTES elements', () => {
  test('come back as they were', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array()), (elements) => {
        assert.deepEqual(
          decodeBytes(encodeBytes(elements)).map((bytes) => new Uint8Array(bytes)),
          elements,
        );
      }),
    );
  });

  test('are refused when cut', () => {
    assert.throws(() => decodeBytes(Uint8Array.of(1, 0, 0, 0, 65, 2, 0)), {
      code: 'INVALID_ARG',
      message: 'incomplete string length indicator in element 1: expecting 4 bytes but only 2 bytes available',
    });
    assert.throws(() => decodeBytes(Uint8Array.of(3, 0, 0, 0, 65)), {
      code: 'INVALID_ARG',
      message: 'incomplete string data in element 0: expecting string of length 3 but only 1 bytes available',
    });
  });
});

describe('makeTensor and tensorValues', () => {
  test("are each other's inverse", () => {
    const tables = [
      ['BOOL', [true, false]],
      ['UINT8', [0, 255]],
      ['INT8', [-128, 127]],
      ['UINT16', [0, 65535]],
      ['INT16', [-32768, 32767]],
      ['UINT32', [0, 0xffffffff]],
      ['INT32', [-(2 ** 31), 2 ** 31 - 1]],
      ['UINT64', [0n, 2n ** 64n - 1n]],
      ['INT64', [-(2n ** 63n), 2n ** 63n - 1n]],
      ['FP16', [1.5, -0, 65504, 2 ** -24, Number.NaN]],
      ['BF16', [1.5, -0, 2 ** 100, Number.NaN]],
      ['FP32', [1.5, -0, Number.NaN]],
      ['FP64', [0.1, -0, Number.NEGATIVE_INFINITY]],
    ] as const;
    for (const [datatype, values] of tables) assert.deepEqual(tensorValues(makeTensor('x', datatype, values)), values);
    assert.deepEqual(tensorStrings(makeTensor('x', 'BYTES', ['é', Uint8Array.of(65)])), ['é', 'A']);
  });

  test('refuse values that do not fit', () => {
    const wrong = [
      ['UINT8', [256], "tensor 'x' of datatype UINT8 cannot hold the value 256"],
      ['INT32', [1.5], "tensor 'x' of datatype INT32 cannot hold the value 1.5"],
      ['UINT64', [-1n], "tensor 'x' of datatype UINT64 cannot hold the value -1"],
      ['INT64', [2 ** 53], "tensor 'x' of datatype INT64 cannot hold the value 9007199254740992"],
      ['BOOL', [1], "tensor 'x' of datatype BOOL cannot hold the value 1"],
      ['BYTES', [1], "tensor 'x' of datatype BYTES cannot hold the value 1"],
      ['FP32', ['1'], 'tensor \'x\' of datatype FP32 cannot hold the value "1"'],
    ] as const;
    for (const [datatype, values, message] of wrong) {
      assert.throws(() => makeTensor('x', datatype, values), { code: 'INVALID_ARG', message });
    }
    assert.throws(() => makeTensor('x', 'FP32', [1, 2], [3]), {
      code: 'INVALID_ARG',
      message: "tensor 'x' of shape [3] needs 3 values, got 2",
    });
  });

  test('take a typed array without copying it', () => {
    const values = Float32Array.of(1, 2);
    assert.equal(makeTensor('x', 'FP32', values).data.buffer, values.buffer);
  });
});

describe('typedView', () => {
  test('copies only what lies misaligned', () => {
    const block = new Uint8Array(17);
    assert.equal(typedView('FP32', block.subarray(4, 12)).buffer, block.buffer);
    const misaligned = Buffer.from(block.buffer, 1, 16);
    misaligned.writeDoubleLE(0.25, 8);
    const view = typedView('FP64', misaligned);
    assert.notEqual(view.buffer, block.buffer);
    assert.deepEqual([...view], [0, 0.25]);
  });
});

describe('16-bit floats', () => {
  test('come back as they were, whatever their bits', () => {
    for (let bits = 0; bits < 0x10000; bits++) {
      const half = fromFp16(bits);
      assert.equal(toFp16(half), Number.isNaN(half) ? 0x7e00 : bits);
      const brain = fromBf16(bits);
      assert.equal(toBf16(brain), Number.isNaN(brain) ? 0x7fc0 : bits);
    }
  });

  test('round to the nearest, halves to even', () => {
    fc.assert(
      fc.property(fc.double({ min: -70000, max: 70000, noNaN: true }), (value) => {
        const bits = toFp16(value);
        const chosen = Math.abs(fromFp16(bits) - value);
        for (const other of [bits - 1, bits + 1]) {
          if ((other & 0x7fff) > 0x7c00 || other < 0 || (other & 0x8000) !== (bits & 0x8000)) continue;
          const magnitude = fromFp16(other);
          if (Number.isFinite(magnitude) && Number.isFinite(fromFp16(bits)))
            assert.ok(chosen <= Math.abs(magnitude - value));
        }
      }),
    );
    assert.deepEqual([1 + 2 ** -11, 1 + 3 * 2 ** -11, 65519.99, 65520].map(toFp16), [0x3c00, 0x3c02, 0x7bff, 0x7c00]);
    assert.deepEqual([1 + 2 ** -8, 1 + 3 * 2 ** -8].map(toBf16), [0x3f80, 0x3f82]);
  });
});
