import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Ring } from './ring.js';

const step = fc.oneof(
  fc.constant({ kind: 'push' as const }),
  fc.constant({ kind: 'shift' as const }),
  fc.record({ kind: fc.constant('many' as const), count: fc.nat(3000) }),
  fc.record({ kind: fc.constant('few' as const), count: fc.nat(3000) }),
);

test('a ring behaves like an array', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 50 }), (steps) => {
      const ring = new Ring<number>();
      const array: number[] = [];
      let next = 0;
      for (const action of steps) {
        if (action.kind === 'push') {
          ring.push(next);
          array.push(next++);
        } else if (action.kind === 'shift') {
          assert.equal(ring.shift(), array.shift());
        } else {
          for (let i = 0; i < action.count; i++) {
            if (action.kind === 'few') {
              assert.equal(ring.shift(), array.shift());
            } else {
              ring.push(next);
              array.push(next++);
            }
          }
        }
        assert.equal(ring.length, array.length);
        for (const index of [0, 1, array.length >> 1, array.length - 1, array.length]) {
          assert.equal(ring.at(index), array[index]);
        }
      }
    }),
    { numRuns: 200 },
  );
});
