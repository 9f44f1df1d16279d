import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ENDPOINTS } from './endpoints.js';
import { openApiDocument } from './openapi/document.js';
import { SCHEMAS } from './openapi/schemas.js';

const document = openApiDocument({ name: 'triton', version: '2.73.0', extensions: [] }, ENDPOINTS);
type Operation = { readonly operationId: string };
const paths = document['paths'] as Record<string, { get?: Operation; post?: Operation }>;

test('no path stands in the table twice, and every endpoint serves a method', () => {
  assert.equal(new Set(ENDPOINTS.map(({ path }) => path)).size, ENDPOINTS.length);
  for (const { path, get, post } of ENDPOINTS) assert.ok(get !== undefined || post !== undefined, path);
});

test('operation ids are unique', () => {
  const ids = Object.values(paths).flatMap(({ get, post }) => [get, post].flatMap((o) => (o ? [o.operationId] : [])));
  assert.equal(new Set(ids).size, ids.length);
});

test('every reference is declared', () => {
  const used = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map((match) => match[1]);
  for (const name of used) assert.ok(Object.hasOwn(SCHEMAS, name as string), name);
  assert.deepEqual(
    Object.keys(SCHEMAS).filter((name) => !used.includes(name)),
    [],
  );
});
