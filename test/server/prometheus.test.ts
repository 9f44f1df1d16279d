/** A real Prometheus scrapes the server with the shipped configuration, and the shipped dashboard finds what it asks for. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { eventually, prometheusProgram, startPrometheus } from '../support/servers/prometheus.js';
import { startTestServer } from '../support/servers/test-server.js';
import { httpRequest } from '../support/wire/http-request.js';

const DEPLOY = path.resolve(import.meta.dirname, '../../../deploy');
const program = prometheusProgram();

interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly targets?: readonly { readonly expr: string }[];
  }[];
  readonly templating: { readonly list: readonly { readonly definition?: string }[] };
}

const dashboard = JSON.parse(readFileSync(path.join(DEPLOY, 'grafana/triton.json'), 'utf8')) as Dashboard;
const expressions = dashboard.panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })));

async function start() {
  const repository = makeRepository({
    ...identityModel('plain', [['TYPE_INT32', '-1']]),
    ...identityModel('cached', [['TYPE_INT32', '-1']], 'max_batch_size: 8 response_cache { enable: true }'),
  });
  const server = await startTestServer(
    [repository.path],
    [
      '--cache-config=local,size=1048576',
      '--metrics-config=summary_latencies=true',
      '--metrics-config=histogram_latencies=true',
      '--metrics-interval-ms=50',
    ],
  );
  let data = 0;
  return {
    server,
    /** A request to each model that the cache does not know, and the same again. */
    async infer() {
      const body = JSON.stringify({ inputs: [{ name: 'INPUT0', datatype: 'INT32', shape: [1, 1], data: [data++] }] });
      for (const model of ['plain', 'plain', 'cached', 'cached']) {
        const answer = await httpRequest(server.http, 'POST', `/v2/models/${model}/infer`, body);
        assert.equal(answer.status, 200, answer.text);
      }
    },
    async end() {
      await server.stop();
      repository.remove();
    },
  };
}

test('every metric that the dashboard names is in a scrape', async () => {
  const { server, infer, end } = await start();
  await infer();
  const { text } = await httpRequest(server.metrics, 'GET', '/metrics');
  await end();
  const shown = new Set([...text.matchAll(/^(\w+)[{ ]/gm)].map((match) => match[1]));
  const asked = [
    ...expressions.map(({ expr }) => expr),
    ...dashboard.templating.list.map((v) => v.definition ?? ''),
  ].flatMap((expr) => expr.match(/\bnv_\w+/g) ?? []);
  assert.ok(asked.length > 30);
  assert.deepEqual(
    asked.filter((name) => !shown.has(name)),
    [],
  );
});

test('Prometheus scrapes it, and fills every panel', { skip: program === undefined }, async () => {
  const { server, infer, end } = await start();
  const shipped = readFileSync(path.join(DEPLOY, 'prometheus/prometheus.yml'), 'utf8');
  const configuration = shipped
    .replace('localhost:8002', `127.0.0.1:${server.metrics}`)
    .replace(/scrape_interval: .*/, 'scrape_interval: 200ms');
  assert.notEqual(configuration, shipped);
  const prometheus = await startPrometheus(program as string, configuration);
  try {
    const success = 'nv_inference_request_success{model="cached",version="1",job="triton"}';
    for (let i = 0; i < 5; i++) await infer();
    await eventually(async () => (await prometheus.query(`${success} == 10`))[0], success);
    // Rates need two scrapes with a step between them.
    for (const { title, expr } of expressions) {
      const concrete = expr.replaceAll('$model', '.+').replaceAll('$__rate_interval', '1m');
      const results = await eventually(async () => {
        await infer();
        const found = await prometheus.query(concrete);
        return found.length === 0 ? undefined : found;
      }, `${title}: ${expr}`);
      for (const { value } of results) assert.ok(!Number.isNaN(Number(value[1])), `${title}: ${expr} is ${value[1]}`);
    }
    const [target] = await prometheus.targets();
    assert.equal(target?.health, 'up', target?.lastError);
  } finally {
    await prometheus.stop();
    await end();
  }
});
