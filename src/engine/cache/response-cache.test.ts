import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import {
  GatedBackend,
  infer,
  int32,
  int32Values,
  makeRequest,
  settle,
  startEngine,
} from '../../../test/support/engine/engine-harness.js';
import { TritonError } from '../../base/error.js';
import type { InferenceRequest } from '../../contract/request.js';
import type { Engine } from '../engine.js';

const CACHE = { cacheConfig: [{ cache: 'local', key: 'size', value: '65536' }] };

function config(more: string, name = 'm'): string {
  return `name: "${name}" backend: "gated" max_batch_size: 8
    input { name: "IN" data_type: TYPE_INT32 dims: [-1] } output { name: "OUT" data_type: TYPE_INT32 dims: [-1] }
    instance_group { count: 1 kind: KIND_CPU } ${more}`;
}

/** An ensemble of one step. */
function ensembleOf(member: string, name: string, more = ''): string {
  return `name: "${name}" platform: "ensemble" max_batch_size: 8
    input { name: "IN" data_type: TYPE_INT32 dims: [-1] } output { name: "OUT" data_type: TYPE_INT32 dims: [-1] }
    ensemble_scheduling { step { model_name: "${member}" model_version: -1
      input_map { key: "IN" value: "IN" } output_map { key: "OUT" value: "OUT" } } } ${more}`;
}

const ENABLED = 'response_cache { enable: true }';

async function start(files: Record<string, string>, options: object = CACHE) {
  const backend = new GatedBackend();
  backend.open = true;
  const versions = Object.keys(files).map((name) => [name.replace('config.pbtxt', '1/'), '']);
  const started = await startEngine({ ...files, ...Object.fromEntries(versions) }, { backends: [backend], ...options });
  assert.equal(started.engine.startError, undefined, started.log.join('\n'));
  return { ...started, backend };
}

function request(values: number[], more: Partial<InferenceRequest> = {}, shape = [1, values.length]): InferenceRequest {
  return makeRequest([int32('IN', shape, values)], more);
}

/** Statistics are written after the response has gone out. */
async function counts(engine: Engine, name = 'm') {
  await settle();
  const { inference_stats: stats, inference_count, execution_count } = engine.statistics(name, '')[0]!;
  return {
    success: Number(stats.success.count),
    compute: Number(stats.compute_infer.count),
    hits: Number(stats.cache_hit.count),
    misses: Number(stats.cache_miss.count),
    inferences: Number(inference_count),
    executions: Number(execution_count),
  };
}

describe('the response cache', () => {
  test('answers an equal request without an execution, whatever its id and parameters', async () => {
    const { engine, backend, close } = await start({ 'm/config.pbtxt': config(ENABLED) });
    const model = engine.model('m', '');
    await infer(model, request([5], { id: 'a' }));
    const answer = await infer(model, request([5], { id: 'b', parameters: [['p', 1n]] }));
    assert.deepEqual([answer.id, int32Values(answer, 'OUT'), answer.parameters], ['b', [5], []]);
    assert.equal(backend.executions.length, 1);
    assert.deepEqual(await counts(engine), {
      success: 2,
      compute: 1,
      hits: 1,
      misses: 1,
      inferences: 1,
      executions: 1,
    });
    assert.equal(engine.metrics()[0]!.loaded!.pending, 0);
    await close();
  });

  test('other data, shapes, batch sizes and outputs are other requests', async () => {
    const { engine, backend, close } = await start({ 'm/config.pbtxt': config(ENABLED) });
    const model = engine.model('m', '');
    for (const one of [request([1, 2]), request([2, 1]), request([1, 2], {}, [2, 1])]) {
      assert.equal((await infer(model, one)).error, undefined);
    }
    assert.equal(backend.executions.length, 3);
    assert.deepEqual(await counts(engine), {
      success: 3,
      compute: 3,
      hits: 0,
      misses: 3,
      inferences: 4,
      executions: 3,
    });
    await close();
  });

  test('a hit does not wait for a busy instance', async () => {
    const { engine, backend, close } = await start({ 'm/config.pbtxt': config(ENABLED) });
    const model = engine.model('m', '');
    await infer(model, request([1]));
    backend.open = false;
    const slow = infer(model, request([2]));
    assert.deepEqual(int32Values(await infer(model, request([1])), 'OUT'), [1]);
    backend.executions[1]!.finish();
    assert.deepEqual(int32Values(await slow, 'OUT'), [2]);
    await close();
  });

  test('errors are not kept', async () => {
    const { engine, backend, close } = await start({ 'm/config.pbtxt': config(ENABLED) });
    const model = engine.model('m', '');
    backend.open = false;
    const failing = infer(model, request([1]));
    await backend.begun(1);
    backend.executions[0]!.fail(new TritonError('INTERNAL', 'no luck'));
    assert.equal((await failing).error?.message, 'no luck');
    backend.open = true;
    assert.equal((await infer(model, request([1]))).error, undefined);
    assert.deepEqual(await counts(engine), {
      success: 1,
      compute: 1,
      hits: 0,
      misses: 1,
      inferences: 1,
      executions: 1,
    });
    await close();
  });

  test('equal requests that run at the same time are kept once', async () => {
    const { engine, backend, close } = await start({ 'm/config.pbtxt': config(ENABLED) });
    const model = engine.model('m', '');
    backend.open = false;
    const answers = [infer(model, request([1])), infer(model, request([1]))];
    await settle();
    backend.executions[0]!.finish();
    await backend.begun(2);
    backend.executions[1]!.finish();
    await Promise.all(answers);
    await settle();
    assert.equal((await counts(engine)).misses, 1);
    assert.equal((await counts(engine)).success, 2);
    await close();
  });

  test('is off for models that do not ask for it, and without a cache', async () => {
    const { engine, backend, close } = await start({
      'm/config.pbtxt': config(''),
    });
    for (let i = 0; i < 2; i++) await infer(engine.model('m', ''), request([1]));
    assert.equal(backend.executions.length, 2);
    assert.equal(engine.customMetrics().length, 8);
    await close();
    const none = await start({ 'm/config.pbtxt': config(ENABLED) }, {});
    for (let i = 0; i < 2; i++) await infer(none.engine.model('m', ''), request([1]));
    assert.equal(none.backend.executions.length, 2);
    assert.equal(none.engine.customMetrics().length, 0);
    await none.close();
  });

  test('a response that can never fit is logged and counts as a miss', async () => {
    const small = { cacheConfig: [{ cache: 'local', key: 'size', value: '256' }] };
    const { engine, log, close } = await start({ 'm/config.pbtxt': config(ENABLED) }, small);
    const answer = await infer(engine.model('m', ''), request(new Array(100).fill(1)));
    assert.equal(answer.error, undefined);
    const line = log.find((text) => text.includes('Failed to insert'))!;
    assert.match(
      line,
      /^E Failed to insert key \[\S+\] into response cache: Requested byte_size: \d+ is greater than total cache size: 256$/,
    );
    assert.equal((await counts(engine)).misses, 1);
    await close();
  });

  test('ensembles are cached as a whole, their steps by themselves', async () => {
    const { engine, backend, close } = await start({
      'm/config.pbtxt': config(ENABLED),
      'top/config.pbtxt': ensembleOf('m', 'top', ENABLED),
      'plain/config.pbtxt': ensembleOf('m', 'plain'),
    });
    for (let i = 0; i < 2; i++) await infer(engine.model('top', ''), request([1]));
    assert.deepEqual(await counts(engine, 'top'), {
      ...{ success: 2, compute: 1, hits: 1, misses: 1, inferences: 1, executions: 1 },
    });
    assert.equal((await counts(engine, 'm')).success, 1);
    for (let i = 0; i < 2; i++) await infer(engine.model('plain', ''), request([1]));
    assert.deepEqual(await counts(engine, 'plain'), {
      ...{ success: 2, compute: 2, hits: 0, misses: 0, inferences: 2, executions: 2 },
    });
    assert.equal((await counts(engine, 'm')).hits, 2);
    assert.equal(backend.executions.length, 1);
    await close();
  });

  test('a hit has the parameters of the response that was kept', async () => {
    const { engine, backend, close } = await start({ 'm/config.pbtxt': config(ENABLED) });
    backend.answer = (one) =>
      one.respond({ outputs: [{ ...one.inputs[0]!, name: 'OUT' }], parameters: [['tokens', 7n]] }, true);
    for (let i = 0; i < 2; i++) {
      const answer = await infer(engine.model('m', ''), request([1]));
      assert.deepEqual(answer.parameters, [['tokens', 7n]]);
    }
    assert.equal(backend.executions.length, 1);
    await close();
  });

  /** Every response holds `value` instead of the input. */
  const answerWith = (backend: GatedBackend, value: number): void => {
    backend.answer = (one) => {
      const output = { ...int32('OUT', [1, 1], [value]), datatype: 'INT32' as const };
      one.respond({ outputs: [output] }, true);
    };
  };

  const EXPLICIT = { ...CACHE, modelControlMode: 'explicit' as const, loadModels: ['*'] };

  test('a version that was loaded again, over itself or after an unload, answers for itself', async () => {
    const { engine, backend, write, close } = await start({ 'm/config.pbtxt': config(ENABLED) }, EXPLICIT);
    const ask = async () => int32Values(await infer(engine.model('m', ''), request([1])), 'OUT');
    const entries = () => engine.customMetrics().find(({ name }) => name === 'nv_cache_num_entries')!.series[0]!.value;
    answerWith(backend, 1);
    assert.deepEqual([await ask(), await ask()], [[1], [1]]);
    answerWith(backend, 2);
    write({ 'm/1/weights': 'other' });
    await engine.load('m', {});
    assert.deepEqual([await ask(), await ask()], [[2], [2]]);
    await settle();
    assert.equal(entries(), 1, 'what the replaced version made is gone');
    answerWith(backend, 3);
    await engine.unload('m', false);
    await settle();
    assert.equal(entries(), 0);
    await engine.load('m', {});
    assert.deepEqual([await ask(), await ask()], [[3], [3]]);
    await close();
  });

  test('with namespaces, a model of the same name in another repository answers for itself', async () => {
    const root = mkdtempSync(path.join(tmpdir(), 'triton-cache-'));
    for (const repository of ['a', 'b']) {
      for (const [model, text] of [
        ['m', config(ENABLED)],
        [`top_${repository}`, ensembleOf('m', `top_${repository}`)],
      ] as const) {
        mkdirSync(path.join(root, repository, model, '1'), { recursive: true });
        writeFileSync(path.join(root, repository, model, 'config.pbtxt'), text);
      }
    }
    const repositories = ['a', 'b'].map((repository) => path.join(root, repository));
    const { engine, backend, log, close } = await start({}, { ...CACHE, repositories, modelNamespacing: true });
    for (const name of ['top_a', 'top_b', 'top_a', 'top_b']) {
      assert.equal((await infer(engine.model(name, ''), request([1]))).error, undefined, log.join('\n'));
    }
    assert.equal(backend.executions.length, 2, 'each repository answers once, then the cache does');
    await close();
    rmSync(root, { recursive: true });
  });

  test('an ensemble does not answer for a member that was loaded again, even when its own load fails', async () => {
    const top = ensembleOf('m', 'top', ENABLED);
    const files = { 'm/config.pbtxt': config(''), 'top/config.pbtxt': top };
    const { engine, backend, write, log, close } = await start(files, EXPLICIT);
    const ask = async () => int32Values(await infer(engine.model('top', ''), request([1])), 'OUT');
    answerWith(backend, 1);
    assert.deepEqual([await ask(), await ask()], [[1], [1]]);
    assert.equal(backend.executions.length, 1);
    answerWith(backend, 2);
    write({ 'm/1/weights': 'other', 'top/config.pbtxt': `${top} version_policy { specific { versions: [7] } }` });
    await engine.load('m', {});
    assert.deepEqual([await ask(), await ask()], [[2], [2]], log.join('\n'));
    await close();
  });
});
