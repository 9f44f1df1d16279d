import assert from 'node:assert/strict';
import { rmSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { GatedBackend, settle, startEngine } from '../../../test/support/engine/engine-harness.js';
import type { EngineOptions } from '../options/engine-options.js';

function member(name: string, more = ''): string {
  return `name: "${name}" backend: "gated" max_batch_size: 8
    input { name: "IN" data_type: TYPE_INT32 dims: [1] } output { name: "OUT" data_type: TYPE_INT32 dims: [1] }
    instance_group { count: 1 kind: KIND_CPU } ${more}`;
}

function chain(name: string, steps: readonly string[], ends: readonly [string, string] = ['IN', 'OUT']): string {
  const tensor = (i: number) => (i === 0 ? 'IN' : i === steps.length ? 'OUT' : `t${i}`);
  const text = steps.map(
    (step, i) => `step { model_name: "${step}" model_version: -1 input_map { key: "${ends[0]}" value: "${tensor(i)}" }
      output_map { key: "${ends[1]}" value: "${tensor(i + 1)}" } }`,
  );
  return `name: "${name}" platform: "ensemble" max_batch_size: 8
    input { name: "IN" data_type: TYPE_INT32 dims: [1] } output { name: "OUT" data_type: TYPE_INT32 dims: [1] }
    ensemble_scheduling { ${text.join(' ')} }`;
}

const CONFIGS = { a: member('a'), b: member('b'), inner: chain('inner', ['a', 'b']), outer: chain('outer', ['inner']) };

async function start(configs: Readonly<Record<string, string>> = CONFIGS, options: Partial<EngineOptions> = {}) {
  const backend = new GatedBackend();
  backend.open = true;
  const files = Object.entries(configs).flatMap(([name, text]) => [
    [`${name}/config.pbtxt`, text],
    [`${name}/1/`, ''],
  ]);
  const started = await startEngine(Object.fromEntries(files), {
    ...{ backends: [backend], modelControlMode: 'explicit', ...options },
  });
  const { engine, log, repository } = started;
  let seconds = Date.now() / 1000;
  return {
    ...started,
    backend,
    load: (name: string) => engine.load(name, {}),
    /** Names of the READY models. */
    ready: async () => (await engine.index(true)).map(({ name }) => name),
    /** What was logged since the last call, once everything has come to rest. */
    lines: async () => {
      await settle();
      return log.splice(0).filter((line) => !line.includes('TRITONBACKEND'));
    },
    /** Writes a configuration so that it counts as changed. */
    change: (name: string, text: string) => {
      const file = path.join(repository, name, 'config.pbtxt');
      writeFileSync(file, text);
      seconds += 10;
      utimesSync(file, seconds, seconds);
    },
  };
}

const loaded = (name: string) => [`I loading: ${name}:1`, `I successfully loaded '${name}'`];
const unloaded = (name: string) => `I successfully unloaded '${name}' version 1`;

describe('loading an ensemble', () => {
  test('loads its members first, through nested ensembles', async () => {
    const { load, ready, lines, close } = await start();
    await load('outer');
    assert.deepEqual(await ready(), ['a', 'b', 'inner', 'outer']);
    assert.deepEqual((await lines()).slice(-4), [...loaded('inner'), ...loaded('outer')]);
    await load('outer');
    assert.deepEqual(await lines(), [], 'nothing has changed');
    await close();
  });

  test('at the start of a server, whatever the order of the names', async () => {
    const configs = { a: chain('a', ['b']), b: chain('b', ['c']), c: member('c') };
    const { engine, lines, close } = await start(configs, { modelControlMode: 'none' });
    assert.equal(engine.startError, undefined);
    assert.deepEqual(await lines(), [...loaded('c'), ...loaded('b'), ...loaded('a')]);
    await close();
  });

  test('says which member is missing', async () => {
    const { load, lines, ready, close } = await start({ a: CONFIGS.a, inner: CONFIGS.inner });
    const text = 'ensemble inner contains models that are not available or ambiguous: b';
    await assert.rejects(load('inner'), {
      code: 'INVALID_ARG',
      message: `load failed for model 'inner': ${text}\n`,
    });
    assert.deepEqual(await lines(), [
      "E failed to poll model 'b': model not found in any model repository.",
      `E Invalid argument: ${text}`,
      ...loaded('a'),
    ]);
    assert.deepEqual(await ready(), ['a']);
    await close();
  });

  test('says why a member could not be loaded, on every level; it loads by itself once the member does', async () => {
    const { load, backend, lines, ready, close } = await start();
    backend.broken = new Error('no luck');
    const cause =
      "depends on 'a' which has no loaded version. Model 'a' loading failed with error: version 1 is at " +
      'UNAVAILABLE state: Internal: no luck;';
    await assert.rejects(load('outer'), {
      message:
        "load failed for model 'outer': ensemble 'outer' depends on 'inner' which is not valid. Model 'inner' failed " +
        `with error: ensemble 'inner' ${cause}\n`,
    });
    assert.deepEqual(await ready(), []);
    backend.broken = undefined;
    await load('b');
    await lines();
    await load('a');
    assert.deepEqual(await lines(), [...loaded('a'), ...loaded('inner'), ...loaded('outer')]);
    assert.deepEqual(await ready(), ['a', 'b', 'inner', 'outer']);
    await close();
  });

  test('circles, versions and types that do not fit are refused with the text of the validator', async () => {
    const wrong = CONFIGS.inner.replace('model_version: -1', 'model_version: 3');
    const configs = {
      ...CONFIGS,
      inner: wrong,
      self: chain('self', ['self']),
      odd: chain('odd', ['a']).replace('TYPE_INT32', 'TYPE_FP32'),
    };
    const { load, close } = await start(configs);
    const refusals: [string, string][] = [
      ['inner', "ensemble 'inner' depends on 'a' whose required version 3 is not loaded."],
      ['self', 'circular dependency between ensembles: self -> ... -> self -> self'],
      [
        'odd',
        'in ensemble odd, ensemble tensor IN: inconsistent data type: TYPE_FP32 is inferred from model odd while ' +
          'TYPE_INT32 is inferred from model a',
      ],
    ];
    for (const [name, text] of refusals) {
      await assert.rejects(load(name), { code: 'INVALID_ARG', message: `load failed for model '${name}': ${text}\n` });
    }
    await close();
  });
});

describe('members that change', () => {
  test('bring their ensembles with them', async () => {
    const { load, lines, change, ready, engine, close } = await start();
    await load('outer');
    const before = engine.model('outer', '');
    await lines();
    change('a', member('a', 'parameters { key: "x" value { string_value: "y" } }'));
    await load('a');
    const log = await lines();
    assert.deepEqual(
      log.filter((line) => !line.includes('unloaded')),
      [...loaded('a'), ...loaded('inner'), ...loaded('outer')],
    );
    assert.deepEqual(log.filter((line) => line.includes('unloaded')).sort(), ['a', 'inner', 'outer'].map(unloaded));
    assert.deepEqual(await ready(), ['a', 'b', 'inner', 'outer']);
    assert.notEqual(engine.model('outer', ''), before);
    await close();
  });

  test('take an ensemble out that they no longer fit, and bring it back', async () => {
    const { load, lines, change, ready, engine, close } = await start();
    await load('inner');
    await lines();
    change('a', member('a').replace('max_batch_size: 8', 'max_batch_size: 2'));
    await load('a');
    const text =
      'ensemble inner allows maximum batch size 8, but it contains model a which only allows maximum batch size to be 2';
    assert.ok((await lines()).includes(`E Invalid argument: ${text}`));
    assert.deepEqual(await ready(), ['a', 'b']);
    assert.equal(engine.versionState('inner', '1')!.reason, 'unloaded');
    assert.equal(await engine.isReady(), true);
    change('a', member('a'));
    await load('a');
    assert.deepEqual(await ready(), ['a', 'b', 'inner']);
    await close();
  });

  test('are loaded again with the ensemble when their files have changed', async () => {
    const { load, lines, change, close } = await start();
    await load('inner');
    await lines();
    change('b', member('b', 'parameters { key: "x" value { string_value: "y" } }'));
    await load('inner');
    const log = await lines();
    assert.deepEqual(
      log.filter((line) => line.startsWith('I loading')),
      ['I loading: b:1', 'I loading: inner:1'],
    );
    await close();
  });

  test('that cannot be polled any more fail the call, and all serves on', async () => {
    const { load, repository, ready, engine, close } = await start();
    await load('inner');
    rmSync(path.join(repository, 'b'), { recursive: true });
    await assert.rejects(load('inner'), {
      code: 'INTERNAL',
      message: "failed to load 'inner', failed to poll from model repository",
    });
    assert.deepEqual(await ready(), ['a', 'inner']);
    assert.deepEqual(engine.readyVersions('b'), ['1']);
    await close();
  });
});

describe('unloading', () => {
  test('a member takes its ensembles out; loading it brings them back', async () => {
    const { load, lines, ready, engine, close } = await start();
    await load('outer');
    await lines();
    await engine.unload('b', false);
    const text = 'ensemble inner contains models that are not available or ambiguous: b';
    assert.deepEqual(
      (await lines()).filter((line) => line.startsWith('E')),
      [
        `E Invalid argument: ${text}`,
        `E Invalid argument: ensemble 'outer' depends on 'inner' which is not valid. Model 'inner' failed with error: ${text}`,
      ],
    );
    assert.deepEqual(await ready(), ['a']);
    await load('b');
    assert.deepEqual(await ready(), ['a', 'b', 'inner', 'outer']);
    await close();
  });

  test('an ensemble leaves its members; it does not come back by itself', async () => {
    const { load, ready, engine, close } = await start();
    await load('inner');
    await engine.unload('inner', false);
    assert.deepEqual(await ready(), ['a', 'b']);
    await engine.unload('a', false);
    await load('a');
    assert.deepEqual(await ready(), ['a', 'b']);
    await close();
  });

  test('with its dependents takes out what was loaded only for it', async () => {
    const { load, ready, engine, close } = await start({ ...CONFIGS, other: chain('other', ['a']) });
    await load('b');
    await load('outer');
    await load('other');
    await engine.unload('outer', true);
    // `a` is needed by `other`, `b` was asked for.
    assert.deepEqual(await ready(), ['a', 'b', 'other']);
    await engine.unload('other', true);
    assert.deepEqual(await ready(), ['b']);
    await close();
  });
});

test('loads and unloads of connected models at the same time end in a state that fits the last one', async () => {
  const { load, ready, engine, close } = await start();
  await Promise.all([load('outer'), load('outer'), load('a'), load('inner')]);
  assert.deepEqual(await ready(), ['a', 'b', 'inner', 'outer']);
  await Promise.all([load('outer'), engine.unload('a', false), load('inner')]);
  assert.deepEqual(await ready(), ['a', 'b', 'inner', 'outer']);
  await Promise.all([load('outer'), engine.unload('outer', true)]);
  await settle();
  assert.ok(!(await ready()).includes('outer'));
  await close();
});
