import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ENDPOINTS } from '../endpoints.js';
import { Router } from './router.js';

const router = new Router(ENDPOINTS);

test('known paths', () => {
  const cases: [path: string, pattern: string, model?: string, version?: string][] = [
    ['/v2', '/v2'],
    ['/v2/health/live', '/v2/health/live'],
    ['/v2/health/ready', '/v2/health/ready'],
    ['/v2/models/stats', '/v2/models/stats'],
    ['/v2/models/m', '/v2/models/{model}', 'm'],
    ['/v2/models/a%20b/versions/01', '/v2/models/{model}/versions/{version}', 'a%20b', '01'],
    ['/v2/models/m/versions/3/infer', '/v2/models/{model}/versions/{version}/infer', 'm', '3'],
    ['/v2/models/m/generate', '/v2/models/{model}/generate', 'm'],
    ['/v2/models/m/generate_stream', '/v2/models/{model}/generate_stream', 'm'],
    ['/v2/models/m/ready', '/v2/models/{model}/ready', 'm'],
    ['/v2/models/m/config', '/v2/models/{model}/config', 'm'],
    ['/v2/models/stats/stats', '/v2/models/{model}/stats', 'stats'],
    ['/v2/models/m/trace/setting', '/v2/models/{model}/trace/setting', 'm'],
    ['/v2/trace/setting', '/v2/trace/setting'],
    ['/v2/logging', '/v2/logging'],
    ['/v2/repository/index', '/v2/repository/index'],
    ['/v2/repository/r/index', '/v2/repository/{repository}/index'],
    ['/v2/repository/models/m/load', '/v2/repository/models/{model}/load', 'm'],
    ['/v2/repository/r/models/m/unload', '/v2/repository/{repository}/models/{model}/unload', 'm'],
    ['/v2/systemsharedmemory/status', '/v2/systemsharedmemory/status'],
    ['/v2/cudasharedmemory/region/x/register', '/v2/cudasharedmemory/region/{region}/register'],
  ];
  for (const [path, pattern, model = '', version = ''] of cases) {
    const route = router.find(path);
    assert.deepEqual([route?.endpoint.path, route?.model, route?.version], [pattern, model, version], path);
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
    assert.equal(router.find(path), undefined, path);
  }
});
