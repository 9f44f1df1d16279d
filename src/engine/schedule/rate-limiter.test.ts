import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  GatedBackend,
  infer,
  int32,
  makeRequest,
  settle,
  startEngine,
} from '../../../test/support/engine/engine-harness.js';
import { VirtualClock } from '../../../test/support/engine/virtual-clock.js';
import { silentLog } from '../../base/log.js';
import type { InferenceResponse } from '../../contract/request.js';
import type { AvailableResource } from '../../repository/load/rate-limits.js';
import { type LimitedInstance, type LimitedSpec, RateLimiter } from './rate-limiter.js';

const config = (name: string, limiter: string, more = '') => `name: "${name}" backend: "gated" max_batch_size: 8
  input { name: "IN" data_type: TYPE_INT32 dims: [1] } output { name: "OUT" data_type: TYPE_INT32 dims: [1] }
  instance_group { count: 1 kind: KIND_CPU rate_limiter { ${limiter} } } ${more}`;

async function start(models: Readonly<Record<string, string>>, resources: readonly AvailableResource[] = []) {
  const backend = new GatedBackend();
  const files = Object.entries(models).flatMap(([name, text]) => [
    [`${name}/config.pbtxt`, text],
    [`${name}/1/`, ''],
  ]);
  const log: string[] = [];
  const record = (message: string): void => void log.push(message);
  const started = await startEngine(Object.fromEntries(files), {
    backends: [backend],
    rateLimit: { resources },
    log: { ...silentLog, error: record, verbose: (_level, message) => record(message) },
  });
  return { ...started, backend, log };
}

/** Sends one request to each of the models named, one after the other. */
async function send(engine: Awaited<ReturnType<typeof start>>['engine'], ids: readonly string[]) {
  const answers: Promise<InferenceResponse>[] = [];
  for (const id of ids) {
    answers.push(infer(engine.model(id.slice(0, -1), ''), makeRequest([int32('IN', [1, 1], [1])], { id })));
    await settle();
  }
  return answers;
}

/** Ends executions in the order of their beginning, one at a time; returns the ids of all batches in that order. */
async function drain(backend: GatedBackend, answers: readonly Promise<unknown>[]): Promise<string[]> {
  let done = false;
  const all = Promise.all(answers).then(() => {
    done = true;
  });
  for (let ended = 0; !done; ) {
    if (ended < backend.executions.length) backend.executions[ended++]!.finish();
    await settle();
  }
  await all;
  return backend.executions.map(({ ids }) => ids.join('+'));
}

describe('resources', () => {
  test('models that do not fit together wait for each other', async () => {
    const { engine, backend, close } = await start({
      a: config('a', 'resources { name: "R" count: 2 }'),
      b: config('b', 'resources { name: "R" count: 1 }'),
      c: config('c', ''),
    });
    const begun = () => backend.executions.map(({ ids }) => ids[0]);
    const answers = await send(engine, ['a1', 'c1', 'b1']);
    assert.deepEqual(begun(), ['a1', 'c1'], 'c needs nothing');
    backend.executions[0]!.finish();
    await settle();
    assert.deepEqual(begun(), ['a1', 'c1', 'b1']);
    await drain(backend, answers);
    await close();
  });

  test('as many run side by side as the resource allows, the first in line is not passed', async () => {
    const one = (name: string) => config(name, 'resources { name: "R" count: 1 }');
    const { engine, backend, close } = await start(
      { a: one('a'), b: one('b'), big: config('big', 'resources { name: "R" count: 2 }'), d: one('d') },
      [{ name: 'R', count: 2, device: -1 }],
    );
    const answers = await send(engine, ['a1', 'b1', 'big1', 'd1']);
    assert.deepEqual(
      backend.executions.map(({ ids }) => ids[0]),
      ['a1', 'b1'],
    );
    backend.executions[0]!.finish();
    await settle();
    assert.equal(backend.executions.length, 2, 'one is free, but big is first in line');
    assert.deepEqual(await drain(backend, answers), ['a1', 'b1', 'big1', 'd1']);
    await close();
  });

  test('global resources are one pool, others one for each device', () => {
    const clock = new VirtualClock();
    const limiter = new RateLimiter([], silentLog, clock);
    const begun: string[] = [];
    const add = (name: string, deviceId: number, global: boolean) =>
      limiter
        .register({ deviceId, priority: 1, resources: [{ name: global ? 'G' : 'D', global, count: 1 }] })
        .stage(() => begun.push(name));
    add('device0', 0, false);
    add('device0 again', 0, false);
    add('device1', 1, false);
    assert.deepEqual(begun, ['device0'], 'the second of device 0 holds up the line');
    const other = new RateLimiter([], silentLog, clock);
    for (const device of [0, 1]) {
      other
        .register({ deviceId: device, priority: 1, resources: [{ name: 'G', global: true, count: 1 }] })
        .stage(() => begun.push(`global of ${device}`));
    }
    assert.deepEqual(begun, ['device0', 'global of 0']);
  });

  test('what an instance needs grows the default, and what can never run does not load', async () => {
    const { engine, log, close } = await start(
      { a: config('a', 'resources { name: "R" count: 2 }'), p: config('p', 'resources { name: "P" count: 1 }') },
      [{ name: 'R', count: 1, device: -1 }],
    );
    const text = (name: string, count: number) =>
      `Resource count for "${name}" is limited to ${name === 'R' ? 1 : 0} which will prevent scheduling of one or more ` +
      `model instances, the minimum required count is ${count}`;
    assert.equal(engine.versionState('a', '1')!.reason, `Invalid argument: ${text('R', 2)}`);
    assert.equal(
      engine.versionState('p', '1')!.reason,
      `Invalid argument: ${text('P', 1)}`,
      'unlisted ones count as 0',
    );
    assert.ok(log.includes(`ERROR: Failed to create instance: ${text('R', 2)}`));
    await close();
  });

  test('a name is global or not', async () => {
    const { engine, close } = await start({
      a: config('a', 'resources [ { name: "R" count: 2 }, { name: "R" global: true count: 1 } ]'),
    });
    assert.equal(
      engine.versionState('a', '1')!.reason,
      'Invalid argument: Resource "R" is present as both global and device-specific resource in the model configuration.',
    );
    await close();
  });

  test('the limits are logged', async () => {
    const { log, close } = await start({
      a: config('a', 'resources [ { name: "R" count: 2 }, { name: "G" global: true count: 3 } ]'),
    });
    assert.ok(
      log.includes(
        '\nMax Resource Map===>\n\tDevice: GLOBAL\n\t\tResource: G\t Count: 3\n\tDevice: 0\n\t\tResource: R\t Count: 2\n',
      ),
    );
    await close();
  });

  test('an unloaded model no longer counts', async () => {
    const { engine, backend, close } = await startExplicit();
    await engine.unload('big', false);
    await settle();
    const answers = await send(engine, ['a1', 'b1']);
    assert.equal(backend.executions.length, 1, 'without the big one there is 1 of R');
    assert.deepEqual(await drain(backend, answers), ['a1', 'b1']);
    await close();
  });

  async function startExplicit() {
    const backend = new GatedBackend();
    const files: Record<string, string> = {};
    for (const [name, count] of [
      ['a', 1],
      ['b', 1],
      ['big', 2],
    ] as const) {
      files[`${name}/config.pbtxt`] = config(name, `resources { name: "R" count: ${count} }`);
      files[`${name}/1/`] = '';
    }
    const started = await startEngine(files, {
      backends: [backend],
      rateLimit: { resources: [] },
      modelControlMode: 'explicit',
      loadModels: ['*'],
    });
    return { ...started, backend };
  }
});

test('the model that ran less, times its priority, goes first; of equals the one that waits longest', async () => {
  const { engine, backend, close } = await start(
    {
      low: config('low', 'priority: 3 resources { name: "P" count: 1 }'),
      high: config('high', 'priority: 1 resources { name: "P" count: 1 }'),
    },
    [{ name: 'P', count: 1, device: -1 }],
  );
  const answers = await send(engine, ['high1', 'low1', 'low2', 'low3', 'high2', 'high3', 'high4', 'high5']);
  assert.deepEqual(
    await drain(backend, answers),
    ['high1', 'high2', 'high3', 'high4', 'low1', 'high5', 'low2', 'low3'],
    // Both begin at two executions: 2 x 3 of low is passed by high until that has run four times more.
  );
  await close();
});

test('a batch that waits for its turn grows until it is executed', async () => {
  const { engine, backend, close } = await start({
    a: config('a', 'resources { name: "R" count: 1 }'),
    m: config('m', 'resources { name: "R" count: 1 }', 'dynamic_batching {}'),
  });
  const answers = await send(engine, ['a1', 'm1', 'm2', 'm3']);
  assert.deepEqual(await drain(backend, answers), ['a1', 'm1+m2+m3']);
  await close();
});

test('passive instances are made, but get no work', async () => {
  const { engine, backend, log, close } = await start({
    a: config('a', '')
      .replace('rate_limiter {  }', '')
      .concat(' instance_group { count: 2 kind: KIND_CPU passive: true name: "idle" }'),
  });
  assert.deepEqual(backend.made, ['a_0_0', 'idle_0', 'idle_1'], log.join('\n'));
  const answers = await send(engine, ['a1', 'a2', 'a3']);
  await drain(backend, answers);
  assert.deepEqual([...new Set(backend.executions.map(({ instance }) => instance))], ['a_0_0']);
  await close();
});

test('random work never takes more than there is, and all of it is done', async () => {
  const random = generator(7);
  const pick = (n: number): number => Math.floor(random() * n);
  const runs = Number(process.env['SIMULATED_REQUESTS'] ?? 2000);
  const clock = new VirtualClock();
  const available = { A: 3, B: 2, G: 4 } as const;
  const explicit = Object.entries(available).map(([name, count]) => ({ name, count, device: -1 }));
  const limiter = new RateLimiter(explicit, silentLog, clock);
  const used = new Map<string, number>();
  const change = (spec: LimitedSpec, sign: number): void => {
    for (const { name, global, count } of spec.resources) {
      const key = global ? name : `${name}:${spec.deviceId}`;
      const now = (used.get(key) ?? 0) + sign * count;
      assert.ok(now >= 0 && now <= available[name as keyof typeof available], `${now} of ${key}`);
      used.set(key, now);
    }
  };
  const workers = Array.from({ length: 12 }, () => {
    const resources = (['A', 'B', 'G'] as const)
      .filter(() => random() < 0.6)
      .map((name) => ({ name, global: name === 'G', count: 1 + pick(available[name]) }));
    const spec = { deviceId: pick(2), priority: pick(4), resources };
    return { spec, instance: limiter.register(spec), left: 0, busy: false };
  });
  let done = 0;
  const next = (worker: { spec: LimitedSpec; instance: LimitedInstance; left: number; busy: boolean }): void => {
    if (worker.busy || worker.left === 0) return;
    worker.busy = true;
    worker.left--;
    worker.instance.stage(() => {
      change(worker.spec, 1);
      clock.at(clock.nowNs() + 1000 * (1 + pick(50)), () => {
        change(worker.spec, -1);
        done++;
        worker.busy = false;
        worker.instance.release();
        next(worker);
      });
    });
  };
  for (let i = 0; i < runs; i++) {
    clock.at(clock.nowNs() + 1000 * pick(runs * 20), () => {
      const worker = workers[pick(workers.length)]!;
      worker.left++;
      next(worker);
    });
  }
  await clock.run();
  assert.equal(done, runs);
  assert.ok([...used.values()].every((count) => count === 0));
});

/** Numbers from 0 to 1 that are the same in every run. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
