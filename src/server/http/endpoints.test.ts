import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openApiDocument } from './openapi/document.js';
import { SCHEMAS } from './openapi/schemas.js';
import { AREA_RULES, type HttpArea, routeOf } from './route/route.js';

const document = openApiDocument({ name: 'triton', version: '2.73.0', extensions: [] });
type Operation = { readonly operationId: string };
const paths = document['paths'] as Record<string, { get?: Operation; post?: Operation }>;

test('every path of the document leads somewhere, by the methods it names', () => {
  const seen = new Set<HttpArea>();
  for (const [template, item] of Object.entries(paths)) {
    const route = routeOf(template.replace('{model}', 'm').replace('{version}', '3').replace('{region}', 'r'));
    assert.ok(route, template);
    seen.add(route.area);
    const rule = AREA_RULES[route.area];
    assert.deepEqual([item.get !== undefined, item.post !== undefined], [rule.get, rule.post], template);
  }
  const left = Object.keys(AREA_RULES).filter((area) => !seen.has(area as HttpArea));
  assert.deepEqual(left, ['openapi']);
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
