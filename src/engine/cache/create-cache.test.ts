import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createCache } from './create-cache.js';

const local = (key: string, value: string) => ({ cache: 'local', key, value });

describe('settings of the cache', () => {
  test('without any there is none', () => assert.equal(createCache([]), undefined));

  test('the last size counts, read as C reads numbers', () => {
    for (const settings of [[local('size', '1'), local('size', '1048576')], [local('size', ' +1048576B')]]) {
      assert.equal(createCache(settings)!.utilization, 128 / 1048576);
    }
  });

  const BAD: readonly [string, ReturnType<typeof local>[], string, string][] = [
    ['no size', [local('sise', '1')], 'INVALID_ARG', "config didn't contain a valid 'size' field."],
    ['no number', [local('size', 'big')], 'INTERNAL', 'stoull'],
    ['beyond 64 bits', [local('size', '99999999999999999999')], 'INTERNAL', 'stoull'],
    [
      'too small',
      [local('size', '10')],
      'INTERNAL',
      'Could not initialize buffer in basic_managed_external_buffer constructor' +
        ' (a cache of 10 bytes is too small, it needs at least 192)',
    ],
  ];
  for (const [what, settings, code, text] of BAD) {
    test(`${what} is refused`, () =>
      assert.throws(() => createCache(settings), { code, message: `Failed to initialize LocalCache: ${text}` }));
  }

  test('other caches and several are refused', () => {
    assert.throws(() => createCache([{ cache: 'redis', key: 'host', value: 'x' }], '/caches'), {
      code: 'INVALID_ARG',
      message: "unable to find 'libtritoncache_redis.so' for cache. Searched: /caches",
    });
    assert.throws(() => createCache([local('size', '1000'), { cache: 'redis', key: 'a', value: 'b' }]), {
      code: 'INVALID_ARG',
      message: 'found multiple cache configurations, but only a single cache is currently supported',
    });
  });
});
