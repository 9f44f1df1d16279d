import assert from 'node:assert/strict';
import { test } from 'node:test';
import { routeOf } from './route.js';

test('known paths', () => {
  const cases: [path: string, area: string, model?: string, version?: string][] = [
    ['/v2', 'server-metadata'],
    ['/v2/health/live', 'live'],
    ['/v2/health/ready', 'ready'],
    ['/v2/models/stats', 'statistics'],
    ['/v2/models/m', 'model-metadata', 'm'],
    ['/v2/models/a%20b/versions/01', 'model-metadata', 'a%20b', '01'],
    ['/v2/models/m/versions/3/infer', 'infer', 'm', '3'],
    ['/v2/models/m/generate', 'generate', 'm'],
    ['/v2/models/m/generate_stream', 'generate-stream', 'm'],
    ['/v2/models/m/ready', 'model-ready', 'm'],
    ['/v2/models/m/config', 'config', 'm'],
    ['/v2/models/stats/stats', 'statistics', 'stats'],
    ['/v2/models/m/trace/setting', 'trace', 'm'],
    ['/v2/trace/setting', 'trace'],
    ['/v2/logging', 'logging'],
    ['/v2/repository/index', 'index'],
    ['/v2/repository/r/index', 'index'],
    ['/v2/repository/models/m/load', 'load', 'm'],
    ['/v2/repository/r/models/m/unload', 'unload', 'm'],
    ['/v2/systemsharedmemory/status', 'shared-memory-status'],
    ['/v2/cudasharedmemory/region/x/register', 'shared-memory-register'],
  ];
  for (const [path, area, model = '', version = ''] of cases) {
    const route = routeOf(path);
    assert.deepEqual([route?.area, route?.model, route?.version], [area, model, version], path);
  }
});

test('everything else has no route', () => {
  for (const path of [
    '/',
    '/v2/',
    '/V2',
    '/v2/models',
    '/v2/models/',
    '/v2/health',
    '/v2/models/m/',
    '/v2/models/m/versions',
    '/v2/models/m/versions/x',
    '/v2/models/m/versions/1/trace/setting',
    '/v2/models/m/infer/',
    '/v2/models/m/toString',
    '/v2/models/m/versions/1/2',
    '/v2/repository',
    '/v2/repository/models/m/index/x',
    '/v2/systemsharedmemory/region/x',
    '/v2/systemsharedmemory/x/status',
    '/metrics',
    'v2',
  ]) {
    assert.equal(routeOf(path), undefined, path);
  }
});
