import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { Input } from './input.js';

describe('Input', () => {
  test('holds what was added and not taken yet, in order', () => {
    const step = fc.record({
      added: fc.uint8Array({ maxLength: 3000 }),
      taken: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const input = new Input();
        let held = Buffer.alloc(0);
        for (const { added, taken } of steps) {
          input.add(Buffer.from(added));
          held = Buffer.concat([held, added]);
          assert.deepEqual(input.bytes.subarray(input.start, input.end), held);
          const count = Math.floor(taken * input.size);
          input.start += count;
          held = held.subarray(count);
          input.release();
          assert.equal(input.size, held.length);
        }
      }),
    );
  });

  test('what was taken as a view stays as it is when more comes', () => {
    const input = new Input();
    input.add(Buffer.from('abcd'));
    const view = input.bytes.subarray(0, 2);
    input.start = 2;
    input.add(Buffer.from('efgh'));
    input.add(Buffer.alloc(5000, 'x'));
    assert.equal(view.toString(), 'ab');
  });

  test('a buffer that is used up is let go', () => {
    const input = new Input();
    input.add(Buffer.alloc(100));
    input.start = input.end;
    input.release();
    assert.deepEqual([input.bytes.length, input.start, input.end], [0, 0, 0]);
  });
});
