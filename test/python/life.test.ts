/** Processes of Python models: what they start ends with them, failed starts leave nothing, restarts are bounded. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { isAlive, until, untilGone } from '../support/machine/processes.js';
import { pythonWithNumpy } from '../support/programs/python.js';
import { httpPort, serveProgram } from '../support/programs/serve-program.js';
import { runValidate } from '../support/programs/validate-process.js';
import { makeRepository, pythonModels } from '../support/repositories/make-repository.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';
import { httpRequest } from '../support/wire/http-request.js';

const python = pythonWithNumpy();
const EXPLICIT = ['--model-control-mode=explicit', `--backend-config=python,python-executable=${python}`];
const CONFIG = `backend: "python" max_batch_size: 0
  input { name: "MODE" data_type: TYPE_STRING dims: [ 1 ] } output { name: "OUT" data_type: TYPE_INT64 dims: [ -1 ] }`;

/** Code of a model; what it notes lies in the test's directory for notes. */
const model = (notes: Notes, body: string): string => `import json, os, signal, subprocess, sys, threading, time
import multiprocessing
import numpy as np
import triton_python_backend_utils as pb_utils
${notes.python}def work(_):
    note("worker")
    time.sleep(0.05)
    return os.getpid()
class TritonPythonModel:
${body.replace(/^/gm, '    ')}
`;

import { makeNotes, type Notes } from '../support/machine/notes.js';

const ANSWER = `
def execute(self, requests):
    return [self.answer(pb_utils.get_input_tensor_by_name(r, "MODE").as_numpy()[0].decode()) for r in requests]
def reply(self, *values):
    return pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array(values, dtype=np.int64))])
`;

async function infer(port: number, name: string, mode: string) {
  const body = { inputs: [{ name: 'MODE', datatype: 'BYTES', shape: [1], data: [mode] }] };
  const { status, json } = await httpRequest(port, 'POST', `/v2/models/${name}/infer`, JSON.stringify(body));
  const answer = json as { error?: string; outputs?: readonly { readonly data: readonly number[] }[] };
  return { status, error: answer.error, data: answer.outputs?.[0]?.data ?? [] };
}

/** Process that ends a server's models should the server be killed. */
function guardOf(server: number): number | undefined {
  const children = spawnSync('ps', ['-o', 'pid=,args=', '--ppid', String(server)], { encoding: 'utf8' }).stdout;
  const line = children.split('\n').find((text) => text.includes('triton-guard'));
  return line === undefined ? undefined : Number.parseInt(line, 10);
}

describe('processes of Python models', { skip: python === undefined }, () => {
  const notes = makeNotes();
  const { noted } = notes;
  const models: Readonly<Record<string, string>> = {
    bomb: `def initialize(self, args):\n    note("bomb")\n    raise ValueError("no luck")\n${ANSWER}`,
    second: `def initialize(self, args):
    note("second")
    if not os.path.exists(os.path.join(NOTES, "seen")):
        open(os.path.join(NOTES, "seen"), "w").close()
        raise ValueError("not yet")
def answer(self, mode):
    return self.reply(os.getpid())
${ANSWER}`,
    pool: `def initialize(self, args):
    from concurrent.futures import ProcessPoolExecutor
    self.pool = ProcessPoolExecutor(3, mp_context=multiprocessing.get_context("fork"))
    self.workers = sorted(set(self.pool.map(work, range(12))))
def answer(self, mode):
    if mode == "exit":
        os._exit(3)
    return self.reply(os.getpid(), *noted("worker"))
${ANSWER}`.replace('*noted("worker")', '*self.workers'),
    runaway: `def initialize(self, args):
    code = "import os, sys, time; os.setsid(); os.fork() and os._exit(0); " \\
        "open(sys.argv[1] + str(os.getpid()), 'w').close(); time.sleep(600)"
    subprocess.run([sys.executable, "-c", code, os.path.join(NOTES, "daemon-")])
    while not [name for name in os.listdir(NOTES) if name.startswith("daemon-")]:
        time.sleep(0.01)
def answer(self, mode):
    return self.reply(os.getpid())
${ANSWER}`,
    signals: `def sleep(self):
    time.sleep(600)
def answer(self, mode):
    os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGINT)
    statuses = []
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    child.terminate()
    statuses.append(child.wait(30))
    fork = multiprocessing.get_context("fork").Process(target=time.sleep, args=(600,))
    def run():
        fork.start()
        fork.terminate()
        fork.join(30)
        statuses.append(fork.exitcode)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return self.reply(*statuses)
${ANSWER}`,
    fragile: `def initialize(self, args):
    note("fragile")
    if os.path.exists(os.path.join(NOTES, "broken")):
        raise ValueError("broken")
def answer(self, mode):
    if mode == "exit":
        os._exit(3)
    return self.reply(os.getpid())
${ANSWER}`,
    ending: `def answer(self, mode):
    return self.reply(os.getpid())
def finalize(self):
    note("finalizing")
    time.sleep(600)
${ANSWER}`,
  };
  const sources = Object.entries(models).map(([name, body]) => [name, model(notes, body)] as const);
  const repository = makeRepository(pythonModels(CONFIG, Object.fromEntries(sources)));
  let server: TestServer;

  before(async () => {
    server = await startTestServer([repository.path], [...EXPLICIT, '--backend-config=python,restart-limit=2']);
  });

  after(async () => {
    await server?.stop();
    repository.remove();
    notes.remove();
  });

  const manage = (name: string, what: 'load' | 'unload') =>
    httpRequest(server.http, 'POST', `/v2/repository/models/${name}/${what}`);
  const load = async (name: string): Promise<void> => {
    const { status, text } = await manage(name, 'load');
    assert.equal(status, 200, text);
  };
  const unloaded = (name: string) => until(`${name} must be gone`, () => gone(name));
  const gone = (name: string): boolean => server.engine.readyVersions(name).length === 0;

  test('a model that cannot be initialised is started once, and nothing of it stays', async () => {
    assert.equal((await manage('bomb', 'load')).status, 400);
    assert.equal(noted('bomb').length, 1);
    await untilGone(noted('bomb'));
    await new Promise((resolve) => setTimeout(resolve, 1500));
    assert.equal(noted('bomb').length, 1, 'it must not be started again');
  });

  test('a model that dies is started again with a limit, which is reported once', async () => {
    await load('fragile');
    writeFileSync(notes.file('broken'), '');
    const before = noted('fragile').length;
    assert.match((await infer(server.http, 'fragile', 'exit')).error!, /not healthy/);
    await server.logged("'fragile_0' stays down: its process ended 3 times in a row");
    await new Promise((resolve) => setTimeout(resolve, 1500));
    assert.equal(noted('fragile').length, before + 2);
    assert.equal(server.logText().split('stays down').length, 2);
    assert.equal((await httpRequest(server.http, 'GET', '/v2/models/fragile/ready')).status, 400);
    assert.match((await infer(server.http, 'fragile', 'pid')).error!, /not healthy/);
    assert.equal((await manage('fragile', 'unload')).status, 200);
    await untilGone(noted('fragile'));
  });

  test('workers that a model forked end with it, when it is unloaded and when it dies', async () => {
    await load('pool');
    const [first = 0, ...workers] = (await infer(server.http, 'pool', 'pids')).data;
    assert.ok(workers.length > 0 && workers.every(isAlive));
    assert.match((await infer(server.http, 'pool', 'exit')).error!, /not healthy/);
    await untilGone([first, ...workers]);
    let again: readonly number[] = [];
    await until('the model must answer again', async () => {
      again = (await infer(server.http, 'pool', 'pids')).data;
      return again.length > 1;
    });
    process.kill(again[0]!, 'SIGKILL');
    await untilGone(again);
    await until('the model must answer again', async () => {
      again = (await infer(server.http, 'pool', 'pids')).data;
      return again.length > 1;
    });
    assert.equal((await manage('pool', 'unload')).status, 200);
    await unloaded('pool');
    await untilGone(again);
  });

  test('what left the process group ends too', { skip: process.platform !== 'linux' }, async () => {
    await load('runaway');
    const daemons = noted('daemon');
    assert.ok(daemons.length > 0 && daemons.every(isAlive));
    assert.equal((await manage('runaway', 'unload')).status, 200);
    await untilGone(daemons);
  });

  test('signals do not end the model, but end what it starts', async () => {
    await load('signals');
    const { error, data } = await infer(server.http, 'signals', '');
    assert.deepEqual([error, data], [undefined, [-15, -15]]);
    assert.equal((await manage('signals', 'unload')).status, 200);
  });

  for (const way of ['SIGKILL', 'SIGTERM'] as const) {
    test(`nothing stays after ${way} to the server`, { skip: process.platform !== 'linux' }, async () => {
      for (const name of ['daemon', 'finalizing']) notes.forget(name);
      const args = [...EXPLICIT, ...['pool', 'runaway', 'ending'].map((name) => `--load-model=${name}`)];
      const program = serveProgram(repository.path, [...args, '--exit-timeout-secs=3']);
      const port = await httpPort(program);
      const pids = [
        ...(await infer(port, 'pool', '')).data,
        ...(await infer(port, 'ending', '')).data,
        ...noted('daemon'),
      ];
      assert.ok(pids.length >= 4 && pids.every(isAlive), String(pids));
      program.kill(way);
      const { status, signal, output } = await program.ended();
      if (way === 'SIGKILL') assert.equal(signal, 'SIGKILL');
      else assert.equal(status, 1, output);
      await untilGone(pids);
      assert.equal(noted('finalizing').length, way === 'SIGKILL' ? 0 : 1);
    });
  }

  test('what should outlive the server is replaced when somebody kills it', {
    skip: process.platform !== 'linux',
  }, async () => {
    const program = serveProgram(repository.path, [...EXPLICIT, '--load-model=pool']);
    const pids = (await infer(await httpPort(program), 'pool', '')).data;
    const guard = guardOf(program.pid);
    assert.ok(guard !== undefined && pids.length > 1 && pids.every(isAlive));
    process.kill(guard, 'SIGKILL');
    await until('another guard must be there', () => ![undefined, guard].includes(guardOf(program.pid)));
    program.kill('SIGKILL');
    await program.ended();
    await untilGone(pids);
  });

  test('repo validate does not wait for what a model starts, and ends it', async () => {
    const forking = makeRepository({
      'forking/config.pbtxt': CONFIG,
      'forking/1/model.py': `import os, time
child = os.fork()
if child == 0:
    open(os.path.join(${JSON.stringify(notes.path)}, "left-%d" % os.getpid()), "w").close()
    time.sleep(600)
    os._exit(0)
while not [name for name in os.listdir(${JSON.stringify(notes.path)}) if name.startswith("left-")]:
    time.sleep(0.01)
class TritonPythonModel:
    def execute(self, requests):
        return []
`,
    });
    const { status, out, complaint, seconds } = await runValidate(forking.path, [], python);
    forking.remove();
    assert.equal(status, 0, out + complaint);
    assert.ok(seconds < 50, `${seconds} s`);
    // The model is imported for its completion and for its instance.
    assert.equal(noted('left').length, 2);
    await untilGone(noted('left'));
  });

  test('a model that succeeds at its second start is left with one process, and the server ends', async () => {
    const program = serveProgram(repository.path, [...EXPLICIT, '--load-model=second', '--model-load-retry-count=1']);
    const port = await httpPort(program);
    assert.equal(noted('second').length, 2);
    const { data } = await infer(port, 'second', '');
    assert.deepEqual(noted('second').filter(isAlive), [...data]);
    program.kill('SIGTERM');
    assert.equal((await program.ended()).status, 0);
    await untilGone(noted('second'));
  });

  test('a server whose model is refused ends, and nothing of the model stays', async () => {
    rmSync(notes.file('seen'));
    notes.forget('second');
    const program = serveProgram(repository.path, [...EXPLICIT, '--load-model=second']);
    const { status, output } = await program.ended();
    assert.equal(status, 1, output);
    assert.match(output, /error: creating server: /);
    assert.equal(noted('second').length, 1);
    await untilGone(noted('second'));
  });
});
