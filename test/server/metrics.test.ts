/** The metrics endpoint of real servers: families in their order, options, values after requests. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer } from '../support/servers/test-server.js';
import { httpRequest } from '../support/wire/http-request.js';

const repository = makeRepository({
  ...identityModel('plain', [['TYPE_INT32', '-1']], 'max_batch_size: 8 metric_tags { key: "team" value: "a\\"b" }'),
  ...identityModel(
    'cached',
    [['TYPE_INT32', '-1']],
    `max_batch_size: 8 response_cache { enable: true }
     model_metrics { metric_control [ { metric_identifier { family: "nv_inference_first_response_histogram_ms" }
       histogram_options { buckets: [ 1000, 60000 ] } } ] }`,
  ),
});

after(() => repository.remove());

const COUNTERS = [
  'nv_inference_request_success',
  'nv_inference_request_failure',
  'nv_inference_count',
  'nv_inference_exec_count',
];
const LATENCIES = [
  'nv_inference_request_duration_us',
  'nv_inference_queue_duration_us',
  'nv_inference_compute_input_duration_us',
  'nv_inference_compute_infer_duration_us',
  'nv_inference_compute_output_duration_us',
  'nv_cache_num_hits_per_model',
  'nv_cache_hit_duration_per_model',
  'nv_cache_num_misses_per_model',
  'nv_cache_miss_duration_per_model',
];
const GAUGES = [
  'nv_inference_pending_request_count',
  'nv_model_load_duration_secs',
  'nv_pinned_memory_pool_total_bytes',
  'nv_pinned_memory_pool_used_bytes',
];
const CPU = ['nv_cpu_utilization', 'nv_cpu_memory_total_bytes', 'nv_cpu_memory_used_bytes'];
const SUMMARIES = [
  'nv_inference_request_summary_us',
  'nv_inference_queue_summary_us',
  'nv_inference_compute_input_summary_us',
  'nv_inference_compute_infer_summary_us',
  'nv_inference_compute_output_summary_us',
  'nv_cache_hit_summary_per_model',
  'nv_cache_miss_summary_per_model',
];

async function start(...args: string[]) {
  const server = await startTestServer([repository.path], args);
  return {
    server,
    infer: (model: string, shape = [1, 1]) =>
      httpRequest(
        server.http,
        'POST',
        `/v2/models/${model}/infer`,
        JSON.stringify({ inputs: [{ name: 'INPUT0', datatype: 'INT32', shape, data: [7] }] }),
      ),
    text: async () => (await httpRequest(server.metrics, 'GET', '/metrics')).text,
  };
}

const familiesOf = (text: string) => [...text.matchAll(/^# TYPE (\S+) \S+$/gm)].map((match) => match[1]);
const seriesValue = (text: string, series: string) =>
  text
    .split('\n')
    .find((line) => line.startsWith(`${series} `))
    ?.slice(series.length + 1);

test('families in their order, and values that grow with requests', async () => {
  const { server, infer, text } = await start();
  assert.deepEqual(familiesOf(await text()), [...COUNTERS, ...LATENCIES, ...GAUGES, ...CPU]);
  await infer('plain');
  await infer('plain', [1, 2]); // the shape does not fit the data: refused, counted nowhere
  const labels = '{_team="a\\"b",model="plain",version="1"}';
  const shown = await text();
  assert.equal(seriesValue(shown, `nv_inference_request_success${labels}`), '1');
  assert.equal(seriesValue(shown, `nv_inference_exec_count${labels}`), '1');
  assert.equal(seriesValue(shown, `nv_inference_pending_request_count${labels}`), '0');
  assert.equal(
    seriesValue(shown, 'nv_inference_request_failure{_team="a\\"b",model="plain",reason="OTHER",version="1"}'),
    '0',
  );
  assert.ok(Number(seriesValue(shown, `nv_inference_request_duration_us${labels}`)) > 0);
  assert.match(shown, /\n$/);
  assert.equal((await httpRequest(server.metrics, 'GET', '/other')).text, '');
  assert.equal((await httpRequest(server.metrics, 'POST', '/metrics')).status, 405);
  await server.stop();
});

test('gauges of the machine are renewed twice per interval', async () => {
  const { server, text } = await start('--metrics-interval-ms=20');
  let memory = '0';
  while (memory === '0') memory = seriesValue(await text(), 'nv_cpu_memory_total_bytes') ?? '';
  assert.ok(Number(memory) > 1e6, memory);
  assert.ok(Number(seriesValue(await text(), 'nv_cpu_memory_used_bytes')) > 0);
  const utilization = Number(seriesValue(await text(), 'nv_cpu_utilization'));
  assert.ok(utilization >= 0 && utilization <= 1);
  await server.stop();
});

test('switched off: gauges of the machine, latency counters, the whole endpoint', async () => {
  const { server, infer, text } = await start('--allow-cpu-metrics=false', '--metrics-config=counter_latencies=false');
  await infer('plain');
  const shown = await text();
  assert.deepEqual(familiesOf(shown), [...COUNTERS, ...GAUGES]);
  assert.equal(seriesValue(shown, 'nv_inference_request_success{_team="a\\"b",model="plain",version="1"}'), '0');
  await server.stop();
  const without = await start('--allow-metrics=false');
  assert.equal(without.server.ports.metrics, undefined);
  await without.server.stop();
});

test('histograms and summaries on request', async () => {
  const { server, infer, text } = await start(
    '--cache-config=local,size=1048576',
    '--metrics-config=histogram_latencies=true',
    '--metrics-config=summary_latencies=true',
    '--metrics-config=summary_quantiles=0.5:0.05,0.9,0.99:0.001',
  );
  assert.match(
    server.logText(),
    /E\d{4} .*"Invalid option: \[0\.9\]\. No ':' delimiter found\. Expected format is <quantile>:<error>"/,
  );
  const cache = familiesOf(await text()).filter((name) =>
    /^nv_cache_(util|num_(entries|hits|misses|lookups|evictions)|(lookup|insertion)_duration)$/.test(name ?? ''),
  );
  assert.equal(cache.length, 8);
  assert.deepEqual(familiesOf(await text()), [
    ...COUNTERS,
    ...LATENCIES,
    ...GAUGES,
    ...CPU,
    ...cache,
    'nv_inference_first_response_histogram_ms',
    ...SUMMARIES,
  ]);
  const labels = 'model="cached",version="1"';
  const queue = 'nv_inference_queue_summary_us';
  assert.equal(seriesValue(await text(), `${queue}{${labels},quantile="0.5"}`), 'Nan');
  for (let i = 0; i < 3; i++) assert.equal((await infer('cached')).status, 200);
  const shown = await text();
  assert.equal(seriesValue(shown, `${queue}_count{${labels}}`), '3');
  assert.equal(seriesValue(shown, `nv_inference_compute_infer_summary_us_count{${labels}}`), '1');
  assert.equal(seriesValue(shown, `nv_cache_hit_summary_per_model_count{${labels}}`), '2');
  assert.equal(seriesValue(shown, `nv_cache_miss_summary_per_model_count{${labels}}`), '1');
  assert.equal(seriesValue(shown, `nv_inference_request_summary_us_count{${labels}}`), undefined);
  assert.match(seriesValue(shown, `${queue}{${labels},quantile="0.99"}`) ?? '', /^\d+$/);
  const histogram = shown.split('\n').filter((line) => line.startsWith('nv_inference_first_response_histogram_ms'));
  assert.deepEqual(
    histogram.filter((line) => line.includes('"cached"') && !line.includes('_sum')),
    [
      `nv_inference_first_response_histogram_ms_count{${labels}} 3`,
      `nv_inference_first_response_histogram_ms_bucket{${labels},le="1000"} 3`,
      `nv_inference_first_response_histogram_ms_bucket{${labels},le="60000"} 3`,
      `nv_inference_first_response_histogram_ms_bucket{${labels},le="+Inf"} 3`,
    ],
  );
  assert.ok(histogram.some((line) => line.includes('model="plain"') && line.includes('le="5000"')));
  await server.stop();
});
