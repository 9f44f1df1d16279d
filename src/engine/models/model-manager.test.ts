import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  GatedBackend,
  infer,
  int32,
  makeRequest,
  settle,
  startEngine,
  testTraits,
} from '../../../test/support/engine/engine-harness.js';
import { TritonError } from '../../base/error.js';
import type { EngineOptions } from '../options/engine-options.js';

const config = (name: string, more = '') => `name: "${name}" backend: "gated"
  input { name: "IN" data_type: TYPE_INT32 dims: [1] } output { name: "OUT" data_type: TYPE_INT32 dims: [1] } ${more}`;

/** A backend whose loads fail with a given error. */
const broken = {
  traits: testTraits('broken', {
    load: async () => {
      throw new TritonError('INVALID_ARG', 'no such luck');
    },
  }),
};

const request = () => makeRequest([int32('IN', [1], [1])]);

function start(files: Record<string, string>, options: Partial<EngineOptions> = {}) {
  const backend = new GatedBackend();
  backend.open = true;
  return startEngine(files, { backends: [backend, broken], ...options });
}

const explicit = (...loadModels: string[]): Partial<EngineOptions> => ({ modelControlMode: 'explicit', loadModels });

describe('start', () => {
  test('a broken model does not hurt the others', async () => {
    const { engine, log, close } = await start({
      'bad/config.pbtxt': config('bad').replace('gated', 'broken'),
      'bad/1/': '',
      'good/config.pbtxt': config('good'),
      'good/1/': '',
      'odd/config.pbtxt': 'name: "odd" nonsense',
      'odd/1/': '',
      'plan/config.pbtxt': config('plan').replace('backend: "gated"', 'platform: "tensorrt_plan"'),
      'plan/1/': '',
      'none/config.pbtxt': config('none'),
    });
    assert.equal(engine.startError?.message, 'failed to load all models');
    assert.equal(engine.startError?.code, 'INTERNAL');
    assert.equal(engine.isLive(), true);
    assert.equal(engine.isReady(), false);
    assert.deepEqual(engine.modelRows(), [
      { name: 'bad', version: '1', status: 'UNAVAILABLE: Invalid argument: no such luck' },
      { name: 'good', version: '1', status: 'READY' },
      { name: 'none', version: '-', status: 'Not loaded: No model version was found' },
      {
        name: 'plan',
        version: '1',
        status:
          "UNAVAILABLE: Invalid argument: unable to find backend library for backend 'tensorrt', try specifying runtime on the model configuration.",
      },
    ]);
    assert.ok(log.includes("E failed to load 'bad' version 1: Invalid argument: no such luck"));
    assert.ok(log.includes("I failed to load 'bad'"));
    assert.ok(
      log.includes(
        "E failed to load model 'none': at least one version must be available under the version policy of model 'none'",
      ),
    );
    assert.ok(
      log.some((line) => line.startsWith("E Poll failed for model directory 'odd': failed to read text proto from")),
    );
    assert.ok(log.some((line) => line.startsWith("W model 'plan' cannot run here: TensorRT")));
    assert.deepEqual(await engine.index(false), [
      { name: 'bad', version: '1', state: 'UNAVAILABLE', reason: 'Invalid argument: no such luck' },
      { name: 'good', version: '1', state: 'READY' },
      { name: 'odd' },
      { name: 'plan', version: '1', state: 'UNAVAILABLE', reason: engine.versionState('plan', '1')!.reason },
    ]);
    assert.deepEqual(await engine.index(true), [{ name: 'good', version: '1', state: 'READY' }]);
    await infer(engine.model('good', ''), request());
    await close();
  });

  test('a missing repository leaves nothing to serve', async () => {
    const { engine, close } = await start({}, { repositories: ['/nowhere/at/all'] });
    assert.equal(engine.hasRepository, false);
    assert.equal(engine.startError?.message, 'failed to stat file /nowhere/at/all');
    assert.equal(engine.isLive(), false);
    assert.throws(() => engine.model('m', ''), { code: 'UNAVAILABLE', message: 'Server not ready' });
    await close();
  });

  test('explicit mode loads the named models', async () => {
    const files = { 'a/config.pbtxt': config('a'), 'a/1/': '', 'b/config.pbtxt': config('b'), 'b/1/': '' };
    const { engine, close } = await start(files, explicit('b'));
    assert.equal(engine.startError, undefined);
    assert.deepEqual(await engine.index(false), [{ name: 'a' }, { name: 'b', version: '1', state: 'READY' }]);
    assert.equal(engine.isReady(), true);
    await close();
  });

  test('explicit mode: names that cannot be loaded', async () => {
    const files = { 'bad/config.pbtxt': config('bad').replace('gated', 'broken'), 'bad/1/': '' };
    for (const [names, message] of [
      [['absent'], 'failed to load all models'],
      [['bad'], "load failed for model 'bad': version 1 is at UNAVAILABLE state: Invalid argument: no such luck;\n"],
      [['*', 'bad'], "Wildcard model name '*' must be the ONLY startup model if specified at all."],
    ] as const) {
      const { engine, close } = await start(files, explicit(...names));
      assert.equal(engine.startError?.message, message);
      await close();
    }
  });

  test('the cores are divided over all instances', async () => {
    const files = { 'a/config.pbtxt': config('a', 'instance_group { count: 3 }'), 'a/1/': '' };
    const { engine, close } = await start(files, { threadBudget: 8 });
    assert.deepEqual(
      { ...engine.threads, share: engine.threads.share, instances: engine.threads.instances },
      {
        cores: 8,
        share: 2,
        instances: 3,
      },
    );
    await close();
  });
});

describe('looking up a model', () => {
  test('versions and the texts of what is not there', async () => {
    const files = {
      'm/config.pbtxt': config('m', 'version_policy { specific { versions: [1, 3] } }'),
      'm/1/': '',
      'm/2/': '',
      'm/3/': '',
      'bad/config.pbtxt': config('bad').replace('gated', 'broken'),
      'bad/1/': '',
    };
    const { engine, close } = await start(files);
    assert.equal(engine.model('m', '').version, '3');
    assert.equal(engine.model('m', '1').version, '1');
    assert.equal(engine.model('m', ' 1abc').version, '1');
    assert.deepEqual(engine.readyVersions('m'), ['1', '3']);
    for (const [name, version, code, message] of [
      ['x', '', 'NOT_FOUND', "Request for unknown model: 'x' is not found"],
      ['m', '2', 'NOT_FOUND', "Request for unknown model: 'm' version 2 is not found"],
      ['bad', '', 'NOT_FOUND', "Request for unknown model: 'bad' has no available versions"],
      ['bad', '1', 'UNAVAILABLE', "Request for unknown model: 'bad' version 1 is not at ready state"],
      [
        'm',
        'abc',
        'INVALID_ARG',
        "failed to get model version from specified version string 'abc' (details: stol), version should be an integral value > 0",
      ],
      [
        'm',
        '99999999999999999999',
        'INVALID_ARG',
        "failed to get model version from specified version string '99999999999999999999' (details: stol), version should be an integral value > 0",
      ],
      ['m', '-3', 'INVALID_ARG', "invalid model version specified '-3' , version should be an integral value > 0"],
    ] as const) {
      assert.throws(() => engine.model(name, version), { code, message });
    }
    assert.equal(engine.isModelReady('m', '2'), false);
    assert.equal(engine.isModelReady('m', ''), true);
    assert.throws(() => engine.statistics('x', ''), { message: "requested model 'x' is not available" });
    assert.throws(() => engine.statistics('m', '2'), {
      message: "requested model version is not available for model 'm'",
    });
    assert.deepEqual(
      engine.statistics('', '').map(({ name, version }) => [name, version]),
      [
        ['m', '1'],
        ['m', '3'],
      ],
    );
    await close();
  });
});

describe('loading and unloading', () => {
  test('are refused outside explicit mode', async () => {
    const { engine, close } = await start({});
    const refused = {
      code: 'UNAVAILABLE',
      message: 'explicit model load / unload is not allowed if polling is enabled',
    };
    await assert.rejects(engine.load('m', {}), refused);
    await assert.rejects(engine.unload('m', false), refused);
    await close();
  });

  test('unloaded versions stay known and do not make the server unready', async () => {
    const { engine, log, close } = await start({ 'm/config.pbtxt': config('m'), 'm/1/': '' }, explicit('m'));
    await engine.unload('m', false);
    await settle();
    assert.deepEqual(await engine.index(false), [
      { name: 'm', version: '1', state: 'UNAVAILABLE', reason: 'unloaded' },
    ]);
    assert.equal(engine.isReady(), true);
    assert.ok(log.includes("I successfully unloaded 'm' version 1"));
    await engine.unload('never seen', false);
    await engine.load('m', {});
    assert.equal(engine.model('m', '').version, '1');
    await close();
  });

  test('requests on their way are answered by the version that was unloaded', async () => {
    const backend = new GatedBackend();
    const files = { 'm/config.pbtxt': config('m', 'instance_group { count: 1 }'), 'm/1/': '' };
    const { engine, close } = await startEngine(files, { backends: [backend], ...explicit('m') });
    const model = engine.model('m', '');
    const answers = [infer(model, request()), infer(model, request())];
    await backend.begun(1);
    await engine.unload('m', false);
    assert.deepEqual(await engine.index(false), [{ name: 'm', version: '1', state: 'UNLOADING' }]);
    backend.executions[0]!.finish();
    await backend.begun(2);
    backend.executions[1]!.finish();
    for (const answer of answers) assert.equal((await answer).error, undefined);
    await settle();
    assert.equal(engine.versionState('m', '1')?.reason, 'unloaded');
    await close();
  });

  test('an unchanged model is not loaded again, a changed one is', async () => {
    const { engine, write, log, close } = await start({ 'm/config.pbtxt': config('m'), 'm/1/': '' }, explicit('m'));
    const loads = () => log.filter((line) => line === "I successfully loaded 'm'").length;
    await engine.load('m', {});
    assert.equal(loads(), 1);
    write({ 'm/config.pbtxt': config('m', 'max_batch_size: 2') });
    await engine.load('m', {});
    assert.equal(loads(), 2);
    assert.equal(engine.model('m', '').maxBatchSize, 2);
    await close();
  });

  test('a failed load keeps the version that serves', async () => {
    const { engine, write, close } = await start({ 'm/config.pbtxt': config('m'), 'm/1/': '' }, explicit('m'));
    write({ 'm/config.pbtxt': config('m').replace('gated', 'broken') });
    await assert.rejects(engine.load('m', {}), {
      code: 'INVALID_ARG',
      message: "load failed for model 'm': version 1 is at UNAVAILABLE state: Invalid argument: no such luck;\n",
    });
    assert.deepEqual(await engine.index(false), [{ name: 'm', version: '1', state: 'READY' }]);
    await infer(engine.model('m', ''), request());
    write({ 'm/config.pbtxt': 'nonsense' });
    await assert.rejects(engine.load('m', {}), {
      code: 'INTERNAL',
      message: "failed to load 'm', failed to poll from model repository",
    });
    await infer(engine.model('m', ''), request());
    await close();
  });

  test('a version policy that selects others loads only those', async () => {
    const policy = (n: number) => config('m', `version_policy { latest { num_versions: ${n} } }`);
    const { engine, write, log, close } = await start(
      { 'm/config.pbtxt': policy(1), 'm/1/': '', 'm/2/': '' },
      explicit('m'),
    );
    const before = engine.model('m', '2');
    write({ 'm/config.pbtxt': policy(2) });
    log.length = 0;
    await engine.load('m', {});
    assert.deepEqual(engine.readyVersions('m'), ['1', '2']);
    assert.equal(engine.model('m', '2'), before);
    // Triton names every version that serves afterwards, but 2 gets no instances: it serves on.
    assert.deepEqual(log, [
      'I loading: m:1',
      'I loading: m:2',
      'I TRITONBACKEND_ModelInstanceInitialize: m_0 (CPU device 0)',
      "I successfully loaded 'm'",
    ]);
    await close();
  });

  test('configuration and files of the call', async () => {
    const { engine, log, close } = await start({ 'm/config.pbtxt': config('m'), 'm/1/': '' }, explicit('m'));
    await engine.load('m', {
      config:
        '{"backend":"gated","max_batch_size":"16","input":[{"name":"IN","data_type":"TYPE_INT32","dims":[1]}],"output":[{"name":"OUT","data_type":"TYPE_INT32","dims":[1]}]}',
    });
    assert.equal(engine.model('m', '').maxBatchSize, 16);
    await engine.load('m', {});
    assert.equal(engine.model('m', '').maxBatchSize, 16);
    const poll = { code: 'INTERNAL', message: "failed to load 'm', failed to poll from model repository" };
    await assert.rejects(engine.load('m', { config: 'not json' }), poll);
    assert.ok(log.some((line) => line.startsWith("E Poll failed for model directory 'm': Invalid config override: ")));
    await assert.rejects(engine.load('m', { files: new Map([['file:1/x', new Uint8Array(1)]]) }), poll);
    await assert.rejects(
      engine.load('m', { config: '{}', files: new Map([['file:../../x', new Uint8Array(1)]]) }),
      poll,
    );
    assert.ok(log.some((line) => line.includes('must stay within model directory.')));
    await engine.load('new', {
      config:
        '{"backend":"gated","input":[{"name":"IN","data_type":"TYPE_INT32","dims":[1]}],"output":[{"name":"OUT","data_type":"TYPE_INT32","dims":[1]}]}',
      files: new Map([['file:4/some.file', new Uint8Array(1)]]),
    });
    assert.equal(engine.model('new', '').version, '4');
    assert.deepEqual(await engine.index(false), [{ name: 'm', version: '1', state: 'READY' }]);
    await close();
  });

  test('names that are refused', async () => {
    const { engine, close } = await start({}, explicit());
    await assert.rejects(engine.load('  ', {}), {
      message: 'Model name cannot be empty. Please enter a valid name to deploy.',
    });
    await assert.rejects(engine.load('a/b', {}), {
      message: "invalid model name 'a/b', model name must not contain path traversal characters",
    });
    await assert.rejects(engine.load('absent', {}), {
      message: "failed to load 'absent', failed to poll from model repository",
    });
    await close();
  });

  test('failure counters outlive the version', async () => {
    const backend = new GatedBackend();
    const files = { 'm/config.pbtxt': config('m'), 'm/1/': '' };
    const { engine, close } = await startEngine(files, { backends: [backend], ...explicit('m') });
    const answer = infer(engine.model('m', ''), request());
    await backend.begun(1);
    backend.executions[0]!.fail(new Error('no'));
    await answer;
    await engine.unload('m', false);
    await settle();
    assert.deepEqual(engine.metrics(), [
      { name: 'm', version: '1', failures: { REJECTED: 0, CANCELED: 0, BACKEND: 1, OTHER: 0 } },
    ]);
    await close();
  });

  test('all counters of the metrics go on over a reload; an unload ends all but the failures', async () => {
    const backend = new GatedBackend();
    backend.open = true;
    const files = { 'm/config.pbtxt': config('m'), 'm/1/': '' };
    const { engine, write, close } = await startEngine(files, { backends: [backend], ...explicit('m') });
    const serve = async () => {
      await infer(engine.model('m', ''), request());
      backend.open = false;
      const begun = backend.executions.length;
      const answer = infer(engine.model('m', ''), request());
      await backend.begun(begun + 1);
      backend.executions[begun]!.fail(new Error('no'));
      await answer;
      backend.open = true;
      await settle();
    };
    const counts = () => {
      const [{ loaded, failures }] = engine.metrics() as [ReturnType<typeof engine.metrics>[0]];
      return [loaded?.success, loaded?.inferenceCount, loaded?.executionCount, failures.BACKEND];
    };
    const statistics = () =>
      engine.statistics('m', '').map(({ inference_stats: { success } }) => Number(success.count));
    await serve();
    write({ 'm/1/weights': 'other' });
    await engine.load('m', {});
    assert.deepEqual([counts(), statistics()], [[1, 1, 1, 1], [0]]);
    await serve();
    await settle();
    assert.deepEqual([counts(), statistics()], [[2, 2, 2, 2], [1]]);
    await assert.rejects(engine.load('m', { config: '{"name": "m", "backend": "absent"}' }));
    assert.deepEqual(counts(), [2, 2, 2, 2], 'a load that failed changes nothing');
    await engine.unload('m', false);
    await settle();
    assert.deepEqual(counts(), [undefined, undefined, undefined, 2]);
    await engine.load('m', {});
    assert.deepEqual(counts(), [0, 0, 0, 2]);
    await close();
  });
});

test('a model that two repositories have is not loaded', async () => {
  const first = await start({ 'm/config.pbtxt': config('m'), 'm/1/': '' });
  const second = await start({ 'm/config.pbtxt': config('m'), 'm/1/': '' }, {});
  const { engine, log, close } = await start({}, { repositories: [first.repository, second.repository] });
  assert.equal(engine.startError?.message, 'failed to load all models');
  assert.ok(log.includes("E failed to poll model 'm': not unique across all model repositories"));
  assert.deepEqual(await engine.index(true), [
    { name: 'm', state: 'UNAVAILABLE', reason: 'model appears in two or more repositories' },
  ]);
  assert.equal(engine.isReady(), true);
  await Promise.all([close(), first.close(), second.close()]);
});

test('an absurd count of instances is refused before anything is made', async () => {
  const group = (count: number) => `instance_group { count: ${count} kind: KIND_CPU }`;
  const { engine, close } = await start({
    'm/config.pbtxt': config('m', `${group(2147483647)} ${group(1)}`),
    'm/1/': '',
  });
  assert.match(
    engine.versionState('m', '1')!.reason,
    /instance groups of model m ask for 2147483648 instances, more than the 1024 that a version may have/,
  );
  await close();
});
