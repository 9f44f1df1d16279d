import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Tensor } from '../../protocol/tensor.js';
import { type CachedResponse, LocalCache } from './local-cache.js';

/** A response of one UINT8 output `O`: 4 + 24 + 1 + 5 + 8 = 42 bytes beside its data. */
function response(bytes: number, value = 0): CachedResponse {
  return kept([{ name: 'O', datatype: 'UINT8', shape: [bytes], data: new Uint8Array(bytes).fill(value) }]);
}

function kept(outputs: Tensor[], parameters: CachedResponse['parameters'] = []): CachedResponse {
  return { outputs, parameters };
}

describe('the local cache', () => {
  test('needs 192 bytes', () => {
    assert.throws(() => new LocalCache(191), {
      code: 'INTERNAL',
      message:
        'Failed to initialize LocalCache: Could not initialize buffer in basic_managed_external_buffer constructor' +
        ' (a cache of 191 bytes is too small, it needs at least 192)',
    });
    assert.equal(new LocalCache(192).entries, 0);
  });

  test('counts sizes as Triton does', () => {
    // What 2.51 said of a response with these outputs: 352 of 4096 bytes in use, 576 with two.
    const outputs = (value: number): Tensor[] => [
      { name: 'OUT', datatype: 'INT32', shape: [1, 1], data: new Uint8Array(4).fill(value) },
      { name: 'INFO', datatype: 'INT32', shape: [1, 4], data: new Uint8Array(16) },
      { name: 'INSTANCE', datatype: 'BYTES', shape: [1, 1], data: new Uint8Array(15) },
    ];
    const cache = new LocalCache(4096);
    cache.insert('a', kept(outputs(1)), [1]);
    assert.equal(cache.utilization, 0.0859375);
    cache.insert('b', kept(outputs(2)), [1]);
    assert.equal(cache.utilization, 0.140625);
  });

  test('gives back a copy of what was inserted, in memory of its own', () => {
    const cache = new LocalCache(4096);
    const batch = Uint8Array.from([9, 1, 2, 3, 9]);
    const output: Tensor = { name: 'O', datatype: 'UINT8', shape: [3], data: batch.subarray(1, 4) };
    cache.insert('k', kept([output], [['p', 1n]]), [1]);
    batch.fill(0);
    const found = cache.lookUp('k')!;
    assert.deepEqual([...found.outputs[0]!.data], [1, 2, 3]);
    assert.deepEqual(found.parameters, [['p', 1n]]);
    assert.ok(found.outputs[0]!.data.buffer.byteLength < 16, 'the rest of the batch is not kept');
    assert.equal(cache.lookUp('other'), undefined);
    assert.deepEqual([cache.counts.hits, cache.counts.misses], [1, 1]);
  });

  test('lets go what was not used for longest', () => {
    const cache = new LocalCache(128 + 3 * 96);
    for (const key of ['a', 'b', 'c']) assert.equal(cache.insert(key, response(10), [1]), true);
    cache.lookUp('a');
    cache.insert('d', response(10), [1]);
    assert.deepEqual(
      ['a', 'b', 'c', 'd'].map((key) => cache.lookUp(key) !== undefined),
      [true, false, true, true],
    );
    assert.equal(cache.counts.evictions, 1);
    assert.equal(cache.utilization, 1);
  });

  test('refuses what could never fit and keeps the rest', () => {
    const cache = new LocalCache(1000);
    cache.insert('a', response(10), [1]);
    assert.throws(() => cache.insert('b', response(2000), [1]), {
      code: 'INVALID_ARG',
      message: 'Requested byte_size: 2042 is greater than total cache size: 1000',
    });
    assert.equal(cache.entries, 1);
  });

  test('a key that is there stays as it is', () => {
    const cache = new LocalCache(1000);
    cache.insert('a', response(1, 7), [1]);
    assert.equal(cache.insert('a', response(1, 8), [1]), false);
    assert.equal(cache.lookUp('a')!.outputs[0]!.data[0], 7);
  });

  test('counts the parameters of a response', () => {
    const cache = new LocalCache(1000);
    const text = 'x'.repeat(2000);
    const large = { ...response(1), parameters: [['p', text]] } as CachedResponse;
    assert.throws(() => cache.insert('a', large, [1]), { code: 'INVALID_ARG' });
    assert.equal(cache.entries, 0);
  });

  test('forgets what a version made, alone or together with others', () => {
    const cache = new LocalCache(4096);
    cache.insert('one', response(1), [1]);
    cache.insert('both', response(1), [1, 2]);
    cache.insert('two', response(1), [2]);
    cache.forget(2);
    assert.deepEqual(
      ['one', 'both', 'two'].map((key) => cache.lookUp(key) !== undefined),
      [true, false, false],
    );
    cache.forget(1);
    assert.equal(cache.entries, 0);
    assert.equal(cache.utilization, 128 / 4096);
  });

  test('never holds more than its size, and finds what the simple model of it finds', () => {
    const operation = fc.record({ key: fc.integer({ min: 0, max: 9 }), bytes: fc.integer({ min: 0, max: 300 }) });
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 200 }), (operations) => {
        const cache = new LocalCache(1000);
        const model: { key: string; cost: number }[] = [];
        for (const { key, bytes } of operations) {
          const name = String(key);
          const index = model.findIndex((entry) => entry.key === name);
          assert.equal(cache.lookUp(name) !== undefined, index >= 0);
          if (index >= 0) {
            model.push(...model.splice(index, 1));
          } else {
            const cost = Math.ceil((42 + bytes) / 16) * 16 + 32;
            const used = () => 128 + model.reduce((sum, entry) => sum + entry.cost, 0);
            while (used() + cost > 1000) model.shift();
            model.push({ key: name, cost });
            cache.insert(name, response(bytes), [1]);
          }
          assert.equal(cache.entries, model.length);
          assert.ok(cache.utilization <= 1);
        }
      }),
    );
  });
});
