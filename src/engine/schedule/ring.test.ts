import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Ring } from './ring.js';

const step = fc.oneof(
  fc.constant({ kind: 'push' as const }),
  fc.constant({ kind: 'shift' as const }),
  fc.record({ kind: fc.constant('remove' as const), index: fc.nat(40) }),
);

test('a ring behaves like an array', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
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
          assert.equal(ring.removeAt(action.index), array.splice(action.index, 1)[0]);
        }
        assert.equal(ring.length, array.length);
        array.forEach((value, index) => {
          assert.equal(ring.at(index), value);
        });
      }
    }),
    { numRuns: 200 },
  );
});
