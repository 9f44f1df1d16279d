import fc from 'fast-check';
import { encodeBytes } from '../../../src/protocol/bytes.js';
import { DATATYPES, type Datatype, elementSize } from '../../../src/protocol/datatype.js';
import type { Tensor } from '../../../src/protocol/tensor.js';

/**
 * Tensors of every datatype and of shapes from scalars to three dimensions, zero ones included, unless one is given. For
 * tests.
 */
export function arbitraryTensor(
  datatypes: readonly Datatype[] = DATATYPES,
  fixedShape?: readonly number[],
): fc.Arbitrary<Tensor> {
  return fc
    .record({
      name: fc.oneof(fc.constantFrom('INPUT0', 'x'), fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 })),
      datatype: fc.constantFrom(...datatypes),
      shape:
        fixedShape === undefined
          ? fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 3 })
          : fc.constant([...fixedShape]),
    })
    .chain(({ name, datatype, shape }) => {
      const count = shape.reduce((a, b) => a * b, 1);
      return dataOf(datatype, count).map((data) => ({ name, datatype, shape, data }));
    });
}

function dataOf(datatype: Datatype, count: number): fc.Arbitrary<Uint8Array> {
  const length = { minLength: count, maxLength: count };
  switch (datatype) {
    case 'BYTES':
      return fc.array(fc.uint8Array({ maxLength: 12 }), length).map(encodeBytes);
    case 'BOOL':
      return fc.uint8Array({ min: 0, max: 1, ...length });
    case 'FP32':
      return fc.array(fc.float(), length).map((values) => new Uint8Array(Float32Array.from(values).buffer));
    case 'FP64':
      return fc.array(fc.double(), length).map((values) => new Uint8Array(Float64Array.from(values).buffer));
    case 'INT64':
      return fc
        .array(fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), LIMITS.int64), length)
        .map((values) => new Uint8Array(BigInt64Array.from(values).buffer));
    case 'UINT64':
      return fc
        .array(fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), LIMITS.uint64), length)
        .map((values) => new Uint8Array(BigUint64Array.from(values).buffer));
    default: {
      const bytes = count * elementSize(datatype);
      return fc.uint8Array({ minLength: bytes, maxLength: bytes });
    }
  }
}

const LIMITS = {
  int64: fc.constantFrom(-(2n ** 63n), 2n ** 63n - 1n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, -1n, -(2n ** 32n)),
  uint64: fc.constantFrom(2n ** 64n - 1n, 2n ** 63n, 2n ** 53n + 1n, 10n ** 15n, 10n ** 15n - 1n),
};
