import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ByteQueue } from './byte-queue.js';

test('what is taken is what was added, in any pieces', () => {
  const step = fc.oneof(
    fc.record({ add: fc.array(fc.constantFrom(0, 1, 5, 100, 3000, 5000), { maxLength: 3 }) }),
    fc.record({ take: fc.constantFrom(1, 7, 1000, 10_000) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const queue = new ByteQueue();
      let written = 0;
      let read = 0;
      const handedOut: [Uint8Array, number][] = [];
      const take = (max: number): number => {
        const bytes = queue.take(max);
        handedOut.push([bytes, read]);
        read += bytes.length;
        return bytes.length;
      };
      for (const action of steps) {
        if ('take' in action) assert.ok(take(action.take) <= action.take);
        else {
          const pieces = action.add.map((size) => Uint8Array.from({ length: size }, () => written++ % 251));
          queue.add(
            pieces,
            action.add.reduce((sum: number, size) => sum + size, 0),
          );
        }
        assert.equal(queue.size, written - read);
        assert.ok(queue.memory >= queue.size);
      }
      while (queue.size > 0) assert.ok(take(100_000) > 0);
      assert.equal(read, written);
      assert.equal(queue.memory, 0);
      for (const [bytes, from] of handedOut) assert.ok(bytes.every((byte, i) => byte === (from + i) % 251));
    }),
    { seed: 20_260_703, numRuns: 300 },
  );
});

test('many small pieces cost little more than their bytes', () => {
  const queue = new ByteQueue();
  const piece = Buffer.from('0123456789');
  for (let i = 0; i < 100_000; i++) queue.add([piece], piece.length);
  assert.ok(queue.memory < 1.1 * queue.size, `${queue.memory} bytes for ${queue.size}`);
});
