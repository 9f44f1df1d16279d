/** The connection between the server and a model's process: bytes that are not a frame, text without a UTF-8 form, forks. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isServerMetric } from '../../src/engine/statistics/server-metric-names.js';
import { pythonWithNumpy } from '../support/programs/python.js';
import { identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';
import { httpRequest } from '../support/wire/http-request.js';

const python = pythonWithNumpy();

/**
 * A request says as Python source what to do. `result` becomes the response; what follows a line `# direct` runs outside of
 * any handler, and may set `response`.
 */
const SCRIPTED = `import json, os, socket, struct, sys, threading
import numpy as np
import triton_python_backend_utils as pb_utils

class Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError("no text")

def small():
    return pb_utils.Tensor("RESULT", np.array([b"null"], object))

def call(model, array):
    request = pb_utils.InferenceRequest(model_name=model, requested_output_names=["OUTPUT0"], inputs=[pb_utils.Tensor("INPUT0", array)])
    return request.exec()

def in_child(function):
    """What a function returns in a process that is forked from this one."""
    source, target = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            text = json.dumps(function())
        except Exception as error:
            text = json.dumps(f"{type(error).__name__}: {error}")
        os.write(target, text.encode())
        os._exit(0)
    os.close(target)
    os.waitpid(pid, 0)
    with os.fdopen(source) as stream:
        return json.loads(stream.read())

def job(value):
    try:
        return call("other", np.array([value], np.int32)).has_error()
    except Exception as error:
        return f"{type(error).__name__}: {error}"

class TritonPythonModel:
    def initialize(self, args):
        self.kept = []
    def execute(self, requests):
        return [self.answer(request) for request in requests]
    def answer(self, request):
        source = pb_utils.get_input_tensor_by_name(request, "SOURCE").as_numpy()[0].decode("utf-8", "surrogatepass")
        space = {**globals(), "request": request, "self": self}
        if source.startswith("# direct"):
            exec(source, space)
            return space["response"]
        try:
            exec(source, space)
            text = json.dumps(space.get("result"))
        except Exception as error:
            text = json.dumps(f"{type(error).__name__}: {error}")
        return pb_utils.InferenceResponse([pb_utils.Tensor("RESULT", np.array([text.encode()], object))])
    def finalize(self):
        raise ValueError("end \\ud800 of " + "finalize")
`;

const repository = makeRepository({
  'scripted/config.pbtxt': `backend: "python" max_batch_size: 0
    input { name: "SOURCE" data_type: TYPE_STRING dims: [ 1 ] }
    output { name: "RESULT" data_type: TYPE_STRING dims: [ 1 ] }`,
  'scripted/1/model.py': SCRIPTED,
  'large/config.pbtxt': `backend: "python" max_batch_size: 0
    input { name: "INPUT0" data_type: TYPE_INT32 dims: [ 1 ] } output { name: "OUTPUT0" data_type: TYPE_INT8 dims: [ -1 ] }`,
  'large/1/model.py': `import numpy as np
import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", np.zeros(1 << 20, np.int8))]) for _ in requests]
`,
  ...identityModel('other', [['TYPE_INT32', '[ 1 ]']], 'max_batch_size: 0'),
});

interface Answer {
  readonly error?: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly outputs?: readonly { readonly data: readonly string[] }[];
}

describe('the connection to a model', { skip: python === undefined }, () => {
  let server: TestServer;

  before(async () => {
    server = await startTestServer(
      [repository.path],
      [`--backend-config=python,python-executable=${python}`, '--backend-config=python,max-frame-bytes=67108864'],
    );
  });

  after(async () => {
    await server?.stop();
    repository.remove();
  });

  async function infer(source: string): Promise<Answer> {
    const body = { inputs: [{ name: 'SOURCE', datatype: 'BYTES', shape: [1], data: [source] }] };
    const { json } = await httpRequest(server.http, 'POST', '/v2/models/scripted/infer', JSON.stringify(body));
    return json as Answer;
  }

  /** The `result` of a script, or the text of its exception. */
  async function run(source: string): Promise<unknown> {
    const { outputs, error } = await infer(source);
    assert.equal(error, undefined);
    return JSON.parse(outputs![0]!.data[0]!);
  }

  /** Resolves when the model's process was started again. */
  async function ready(): Promise<void> {
    for (let i = 0; i < 1200; i++) {
      if ((await httpRequest(server.http, 'GET', '/v2/models/scripted/ready')).status === 200) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.fail('the model must become ready again');
  }

  /** Runs what must fail with one error response only: the process goes on. */
  async function fails(source: string, error: RegExp): Promise<void> {
    const pid = await run('result = os.getpid()');
    assert.match((await infer(source)).error ?? 'no error', error);
    assert.equal(await run('result = os.getpid()'), pid);
  }

  const garbage: Readonly<Record<string, [bytes: string, fault: RegExp]>> = {
    'two stray bytes': ['b"ab"', /unknown kind 0/],
    'a frame of an unknown kind': ['struct.pack("<IB", 1, 250)', /unknown kind 250/],
    'an empty frame': ['bytes(4)', /goes beyond the end of a frame of 0 bytes/],
    'a frame beyond the limit': ['struct.pack("<IB", 1 << 31, 114)', /announces a frame of 2147483648 bytes/],
    'a frame that ends too early': [
      'struct.pack("<IBIB", 6, 110, 0, 0)',
      /batch 0, which it does not have|beyond the end/,
    ],
    'a region that is not in use': ['struct.pack("<IBIQ", 13, 118, 1, 64)', /releases a region at 64/],
    'a log record of no level': ['struct.pack("<IBB", 2, 114, 0)', /beyond the end of a frame/],
    'a call that is no JSON': ['struct.pack("<IBIIcIc", 15, 115, 1, 1, b"x", 1, b"{")', /JSON/],
  };
  for (const [name, [bytes, fault]] of Object.entries(garbage)) {
    test(`${name}: only that process ends, and its request says why`, async () => {
      const pid = await run('result = os.getpid()');
      const { error } = await infer(`os.write(3, ${bytes}); result = 1`);
      assert.match(
        error ?? 'no error',
        /^Stub process 'scripted_0' is not healthy\. It was ended because it sent what/,
      );
      assert.match(error!, fault);
      const other = JSON.stringify({ inputs: [{ name: 'INPUT0', datatype: 'INT32', shape: [1], data: [1] }] });
      assert.equal((await httpRequest(server.http, 'POST', '/v2/models/other/infer', other)).status, 200);
      await ready();
      assert.notEqual(await run('result = os.getpid()'), pid);
    });
  }

  test('a response parameter of 16 MB arrives', async () => {
    const source =
      '# direct\nresponse = pb_utils.InferenceResponse([small()], parameters={"long": "\\\\\\"" * (8 << 20), "n": 2**63 - 1})';
    const { parameters, error } = await infer(source);
    assert.equal(error, undefined);
    assert.equal((parameters!['long'] as string).length, 16 << 20);
  });

  test('a message beyond the limit is an error response', async () => {
    const source = '# direct\nresponse = pb_utils.InferenceResponse([small()], parameters={"long": "x" * (65 << 20)})';
    await fails(source, /longer than the limit of 67108864 bytes.*max-frame-bytes/);
    const sent = `${source}\nsender = request.get_response_sender()\nsender.send(response)\nresponse = None`;
    await fails(sent, /The response cannot be sent: A message of \d+ bytes/);
  });

  test('text without a UTF-8 form, or none at all, is an error response', async () => {
    await fails('# direct\nraise ValueError("a\\ud800b")', /message: ValueError: a\\ud800b\n\nAt:/);
    await fails(
      '# direct\nraise Unspeakable()',
      /message: Unspeakable: <MESSAGE UNAVAILABLE DUE TO ANOTHER EXCEPTION>/,
    );
    await fails('# direct\nraise Unspeakable()', /MESSAGE UNAVAILABLE DUE TO EXCEPTION: RuntimeError: no text/);
    const text =
      '# direct\nresponse = pb_utils.InferenceResponse([pb_utils.Tensor("RESULT", np.array(["a\\ud800"], object))])';
    await fails(text, /The response cannot be sent: UnicodeEncodeError/);
    await fails(text.replace('"a\\ud800"', 'Unspeakable()'), /The response cannot be sent: RuntimeError: no text/);
    const sender = `${text}\nsender = request.get_response_sender()\nsender.send(response)\nresponse = None`;
    await fails(sender, /The response cannot be sent: UnicodeEncodeError/);
  });

  test('arguments without a UTF-8 form are wrong arguments', async () => {
    for (const source of [
      'pb_utils.TritonError("\\ud800")',
      'pb_utils.Tensor("\\ud800", np.zeros(1))',
      'pb_utils.Logger.log_info("\\ud800")',
      'pb_utils.Logger.log("text", None)',
      'pb_utils.MetricFamily("\\ud800", "", pb_utils.MetricFamily.GAUGE)',
      'pb_utils.is_model_ready("\\ud800")',
      'pb_utils.InferenceRequest(model_name="m", requested_output_names=[None], inputs=[])',
    ]) {
      assert.match((await run(source)) as string, /^TypeError: .*\(\): incompatible/, source);
    }
    const parameters = 'pb_utils.InferenceResponse([], parameters={"a": "\\ud800"})';
    assert.match((await run(parameters)) as string, /^TritonModelException: .* has no UTF-8 form/);
    const labels = 'pb_utils.MetricFamily("a_gauge", "", pb_utils.MetricFamily.GAUGE).Metric({"a": "\\ud800"})';
    assert.match((await run(labels)) as string, /^TritonModelException: .* has no UTF-8 form/);
  });

  test('too many outputs are an error response', async () => {
    const source =
      '# direct\nresponse = pb_utils.InferenceResponse([pb_utils.Tensor("RESULT", np.zeros(1, np.int8))] * 70000)';
    await fails(
      source,
      /The response cannot be sent: TritonModelException: a response has at most 65535 outputs, not 70000/,
    );
  });

  test('parameters beyond 64 bits are an error', async () => {
    for (const value of ['2**63', '-2**63 - 1', '10**30']) {
      const text = await run(`pb_utils.InferenceResponse([], parameters={"a": ${value}})`);
      assert.match(text as string, /^TritonModelException: Parameter 'a': the value is beyond 64 bits/);
    }
  });

  test('a metric of a model takes no name of the server', async () => {
    const { text } = await httpRequest(server.metrics, 'GET', '/metrics');
    const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name!);
    assert.ok(names.includes('nv_inference_count'));
    for (const name of names) assert.ok(isServerMetric(name), `${name} must be in the list of the server's metrics`);
    for (const name of ['nv_inference_count', 'nv_inference_request_summary_us_count']) {
      const refusal = await run(`pb_utils.MetricFamily("${name}", "", pb_utils.MetricFamily.COUNTER)`);
      assert.match(refusal as string, new RegExp(`Metric name '${name}' is one of the server's own metrics`));
    }
    assert.equal(await run('pb_utils.MetricFamily("nv_mine", "", pb_utils.MetricFamily.COUNTER)'), null);
  });

  test('bytes are taken as strings, and objects with __index__ as integers', async () => {
    const request =
      'pb_utils.InferenceRequest(request_id=b"i", inputs=(), requested_output_names=[b"x"], model_name=b"m", ' +
      'flags=np.int64(1), timeout=np.uint8(3))';
    const fields = '[r.request_id(), list(r.requested_output_names()), r.flags(), r.timeout()]';
    assert.deepEqual(await run(`r = ${request}\nresult = ${fields}`), ['i', ['x'], 1, 3]);
    assert.equal(await run('result = pb_utils.Tensor(b"abc", np.zeros(1)).name()'), 'abc');
    assert.equal(await run('result = pb_utils.is_model_ready(b"other", model_version=b"1")'), true);
    assert.equal(await run('pb_utils.Logger.log(b"logged as bytes")'), null);
    await server.logged('logged as bytes');
  });

  test('names that only signatures use exist, in both modules', async () => {
    const names = 'InferenceResponseSender ResponseIterator Metric MetricKind SharedMemory InferenceTrace MemoryType';
    const source =
      'import c_python_backend_utils as c\n' +
      `result = [name for name in "${names}".split() if getattr(pb_utils, name, 0) is not getattr(c, name, 1)]`;
    // MemoryType and InferenceTrace are not names of triton_python_backend_utils in Triton, but here they are harmless.
    assert.deepEqual(await run(source), []);
    assert.equal(
      await run('result = isinstance(request.get_response_sender(), pb_utils.InferenceResponseSender)'),
      true,
    );
  });

  test('a capsule holds a reference to its tensor', async () => {
    const source = 't = pb_utils.Tensor("a", np.zeros(1))\nbefore = sys.getrefcount(t)\nd = t.to_dlpack()\n';
    assert.equal(await run(`${source}result = sys.getrefcount(t) - before`), 1);
  });

  test('memory of the responses to calls is used again while execute runs', async () => {
    const source =
      'for i in range(200):\n    answer = call("large", np.array([i], np.int32))\nresult = [answer.has_error(), os.fstat(5).st_size]';
    const [failed, size] = (await run(source)) as [boolean, number];
    assert.equal(failed, false);
    // 200 MB came; a few responses at a time were in use.
    assert.ok(size <= 32 << 20, `the shared memory has ${size} bytes`);
  });

  test('a fork has no descriptor of the connection, and calls from it say so', async () => {
    const own = await run('result = [os.readlink(f"/proc/self/fd/{i}") for i in (3, 4)]');
    const listing =
      '[os.readlink(f"/proc/self/fd/{i}") for i in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{i}")]';
    for (const source of [
      `result = in_child(lambda: ${listing})`,
      'import subprocess\nresult = subprocess.run(["sh", "-c", "readlink /proc/self/fd/*"], close_fds=False, stdout=subprocess.PIPE).stdout.decode().split()',
    ]) {
      const links = (await run(source)) as string[];
      for (const link of own as string[]) assert.ok(!links.includes(link), `${link} is open in the child`);
    }
    const refusal = /^TritonModelException: .*This is a process that the model forked/;
    assert.match((await run('result = in_child(lambda: job(1))')) as string, refusal);
    assert.match((await run('result = in_child(lambda: pb_utils.is_model_ready("other"))')) as string, refusal);
    const pool =
      'import multiprocessing\nwith multiprocessing.get_context("fork").Pool(2) as pool:\n    result = pool.map(job, [1, 2, 3])';
    for (const text of (await run(pool)) as string[]) assert.match(text, refusal);
    assert.equal(await run('result = job(1)'), false);
  });

  test('exceptions of execute are logged with their traceback, each once a minute', async () => {
    const source = '# direct\nraise KeyError("logged once")';
    for (let i = 0; i < 5; i++) await infer(source);
    assert.equal(server.logText().split("message: KeyError: 'logged once'").length, 2);
    assert.match(server.logText(), /message: KeyError: 'logged once'\\n\\nAt:\\n.*<string>\(2\): <module>/);
  });

  test('what finalize raises is logged, whatever its characters', async () => {
    await run('result = 1');
    await server.stop();
    assert.match(server.logText(), /ValueError: end \\+ud800 of finalize/);
    assert.match(server.logText(), /4 more times within a minute: Failed to process the request\(s\)/);
  });
});
