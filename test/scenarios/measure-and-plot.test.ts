/**
 * Measure a model with the arguments that people give to perf_analyzer, read and draw the report with pandas, have
 * Prometheus watch it, and send requests with Python's requests. The dashboard of Grafana is in
 * test/server/prometheus.test.ts.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { pythonWithNumpy, pythonWithPlotting, runPython } from '../support/programs/python.js';
import { runTriton } from '../support/programs/run-triton.js';
import { grpcPort, httpPort, metricsPort, type ServeProgram, serveProgram } from '../support/programs/serve-program.js';
import { makeRepository } from '../support/repositories/make-repository.js';
import { eventually, prometheusProgram, startPrometheus } from '../support/servers/prometheus.js';
import { httpRequest } from '../support/wire/http-request.js';

const PROGRAMS = fileURLToPath(new URL('../../../test/scenarios/report', import.meta.url));
const numpy = pythonWithNumpy();
const plotting = pythonWithPlotting();
const prometheus = prometheusProgram();

const HEADERS =
  'Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute Input,' +
  'Server Compute Infer,Server Compute Output,Client Recv,p50 latency,p90 latency,p95 latency,p99 latency';
const MODEL = `import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        texts = [pb_utils.get_input_tensor_by_name(request, "input").as_numpy() for request in requests]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("output", text[::-1])]) for text in texts]
`;
const CONFIG = `backend: "python"
input { name: "input" data_type: TYPE_STRING dims: [ -1 ] }
output { name: "output" data_type: TYPE_STRING dims: [ -1 ] }
`;
/** As it stands beside servers, but for the port, and the interval of a minute that no test can wait. */
const prometheusYml = (port: number): string => `global:
  scrape_interval: 1s

scrape_configs:
  - job_name: triton
    static_configs:
      - targets: ['localhost:${port}']
`;

describe('measure a model, plot it, watch it', { skip: numpy === undefined }, () => {
  const repository = makeRepository({
    'models/bloom-560m/config.pbtxt': CONFIG,
    'models/bloom-560m/1/model.py': MODEL,
  });
  const report = repository.file('perf_results');
  let server: ServeProgram;
  const statistics = async (): Promise<{
    inference_count: number;
    inference_stats: { success: { count: number } };
  }> => {
    const { json } = await httpRequest(await httpPort(server), 'GET', '/v2/models/bloom-560m/stats');
    return (json as { model_stats: Awaited<ReturnType<typeof statistics>>[] }).model_stats[0]!;
  };

  before(async () => {
    server = serveProgram(repository.file('models'), [`--backend-config=python,python-executable=${numpy}`]);
    await server.printed(/Started Metrics Service/);
  });

  after(async () => {
    server?.kill('SIGTERM');
    await server?.ended();
    repository.remove();
  });

  test("perf_analyzer's arguments measure 20 levels into a CSV file", async () => {
    const asWritten = `-m bloom-560m -u localhost:${await grpcPort(server)} -i grpc --concurrency-range 1:20 --input-data random --shape=input:5 --max-trial 5 --string-length=10 -f perf_results`;
    // Short windows, and every level counts as stable: what is measured here is not the machine.
    const quick = '--measurement-interval 200 -s 100000';
    const { status, stdout, stderr } = await runTriton(['perf', ...`${asWritten} ${quick}`.split(' ')], {
      cwd: repository.path,
    });
    assert.equal(status, 0, stderr);
    for (const level of [1, 20]) assert.match(stdout, new RegExp(`^Concurrency: ${level}, throughput: `, 'm'));
    const [head, ...rows] = readFileSync(report, 'utf8').trimEnd().split('\n');
    assert.equal(head, HEADERS);
    assert.equal(rows.length, 20);
    assert.ok((await statistics()).inference_count >= 20);
  });

  test('pandas reads and draws the file', { skip: plotting === undefined }, async () => {
    const picture = repository.file('plot.png');
    const printed = await runPython(plotting!, [path.join(PROGRAMS, 'plot.py'), report, picture]);
    const found = JSON.parse(printed) as Record<'columns' | 'concurrency' | 'types' | 'throughput', unknown[]> & {
      slowest: number;
    };
    assert.deepEqual(found.columns, HEADERS.split(','));
    assert.deepEqual(
      found.concurrency,
      Array.from({ length: 20 }, (_, i) => i + 1),
    );
    assert.ok(
      found.types.every((type) => type === 'i' || type === 'f'),
      'every column is of numbers',
    );
    // Microseconds and inferences per second: N requests outstanding take at least N / throughput each at the slowest.
    const longest = Math.max(...found.throughput.map((throughput, i) => (1e6 * (i + 1)) / Number(throughput)));
    assert.ok(found.slowest >= longest / 2, `p99 of ${found.slowest} us, but a request took ${longest} us`);
    assert.deepEqual(readFileSync(picture).subarray(1, 4).toString(), 'PNG');
  });

  test('without Python the tool itself draws, in the terminal', async () => {
    const where = ['-m', 'bloom-560m', '-u', `localhost:${await httpPort(server)}`, '--shape', 'input:5', '--chart'];
    const levels = ['--concurrency-range', '1:2', '--measurement-interval', '200', '-s', '100000'];
    const { status, stdout, stderr } = await runTriton(['perf', ...where, ...levels]);
    assert.equal(status, 0, stderr);
    assert.match(stdout, /^│ Concurrency │ infer\/sec │ avg us │/m);
    assert.match(stdout, /^ *[\d.]+ +┤.*[╭╮╰╯─│]/m);
  });

  test('Prometheus shows the same counts as the statistics', { skip: prometheus === undefined }, async () => {
    const running = await startPrometheus(prometheus!, prometheusYml(await metricsPort(server)));
    try {
      const { count } = (await statistics()).inference_stats.success;
      const success = `nv_inference_request_success{model="bloom-560m",version="1",job="triton"} == ${count}`;
      await eventually(async () => (await running.query(success))[0], success);
    } finally {
      await running.stop();
    }
  });

  test("requests posts plain JSON, and the response is the model's", { skip: plotting === undefined }, async () => {
    const url = `127.0.0.1:${await httpPort(server)}`;
    const printed = await runPython(plotting!, [path.join(PROGRAMS, 'post.py'), url]);
    assert.equal(printed, 'application/json\nit plot model a measure\n');
  });
});
