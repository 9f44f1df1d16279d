import assert from 'node:assert/strict';
import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, utimesSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import {
  GatedBackend,
  infer,
  int32,
  makeRequest,
  startEngine,
  type TestEngine,
} from '../../../test/support/engine/engine-harness.js';
import type { EngineOptions } from '../options/engine-options.js';

const config = (name: string, more = '') => `name: "${name}" backend: "gated"
  input { name: "IN" data_type: TYPE_INT32 dims: [1] } output { name: "OUT" data_type: TYPE_INT32 dims: [1] } ${more}`;

interface Following extends TestEngine {
  /** Resolves when the log has that number of such lines. */
  logged(line: string, times?: number): Promise<void>;
  readonly backend: GatedBackend;
}

/** An engine that looks at its repository every few milliseconds. */
async function follow(files: Record<string, string>, more: Partial<EngineOptions> = {}): Promise<Following> {
  const backend = new GatedBackend();
  const started = await startEngine(files, {
    backends: [backend],
    modelControlMode: 'poll',
    repositoryPollSeconds: 0.005,
    ...more,
  });
  started.engine.beginPolling();
  const logged = async (line: string, times = 1): Promise<void> => {
    while (started.log.filter((entry) => entry.includes(line)).length < times) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return Object.assign(started, { logged, backend });
}

const BOUND = { timeout: 60_000 };

describe('polling', () => {
  test('requests on their way end on the object that was replaced', BOUND, async () => {
    const { engine, backend, write, logged, close } = await follow({ 'a/config.pbtxt': config('a'), 'a/1/': '' });
    const answer = infer(engine.model('a', ''), makeRequest([int32('IN', [1], [1])]));
    await backend.begun(1);
    write({ 'a/config.pbtxt': config('a', 'parameters { key: "new" value { string_value: "1" } }') });
    await logged("I successfully loaded 'a'", 2);
    assert.equal(engine.model('a', '').config.parameters.get('new')?.string_value, '1');
    backend.open = true;
    backend.executions[0]!.finish();
    assert.equal((await answer).error, undefined);
    await logged("I successfully unloaded 'a' version 1");
    await close();
  });

  test('a model that fails is tried again at every look, and leaves its trace when it goes', BOUND, async () => {
    const { engine, repository, write, logged, close } = await follow({ 'a/config.pbtxt': config('a'), 'a/1/': '' });
    write({ 'bad/config.pbtxt': config('bad').replace('gated', 'nothing'), 'bad/1/': '' });
    await logged("E failed to load 'bad' version 1", 3);
    assert.equal(engine.isReady(), false);
    rmSync(path.join(repository, 'bad'), { recursive: true });
    const tries = () => engine.index(false);
    while ((await tries()).length > 1);
    assert.equal(engine.versionState('bad', '1')?.state, 'UNAVAILABLE');
    assert.equal(engine.isReady(), false);
    write({ 'bad/config.pbtxt': config('bad'), 'bad/1/': '' });
    await logged("I successfully loaded 'bad'");
    assert.equal(engine.isReady(), true);
    await close();
  });

  test('a model that a second repository gets too is taken out of service', BOUND, async () => {
    const other = await startEngine({ 'b/config.pbtxt': config('b'), 'b/1/': '' }, { backends: [new GatedBackend()] });
    const first = await startEngine({ 'a/config.pbtxt': config('a'), 'a/1/': '' }, { backends: [new GatedBackend()] });
    const { engine, logged, close } = await follow({}, { repositories: [first.repository, other.repository] });
    other.write({ 'a/config.pbtxt': config('a'), 'a/1/': '' });
    await logged("I successfully unloaded 'a' version 1");
    assert.deepEqual(engine.readyVersions('a'), []);
    rmSync(path.join(other.repository, 'a'), { recursive: true });
    await logged("I successfully loaded 'a'", 2);
    assert.deepEqual(engine.readyVersions('a'), ['1']);
    for (const end of [close, first.close, other.close]) await end();
  });

  test('a repository that cannot be listed for a while, and dangling links, cost no model', BOUND, async () => {
    const store = await startEngine({ 'a/config.pbtxt': config('a'), 'a/1/': '' }, { backends: [new GatedBackend()] });
    const link = `${store.repository}.link`;
    /** Lets the link lead elsewhere, without a moment in which it is not there. */
    const point = (target: string): void => {
      symlinkSync(target, `${link}.next`);
      renameSync(`${link}.next`, link);
    };
    point(store.repository);
    const { engine, log, logged, close } = await follow({}, { repositories: [link] });
    symlinkSync('user@host.1234', path.join(store.repository, '.#lock'));
    await logged(`the link '${path.join(link, '.#lock')}' leads nowhere`);
    // A link to itself is there, and cannot be listed.
    point(link);
    await logged(`failed to poll model repository '${link}'`);
    assert.deepEqual(engine.readyVersions('a'), ['1']);
    point(store.repository);
    store.write({ 'b/config.pbtxt': config('b'), 'b/1/': '' });
    await logged("I successfully loaded 'b'");
    assert.deepEqual(engine.readyVersions('a'), ['1']);
    const said = (text: string) => log.filter((line) => line.includes(text)).length;
    assert.equal(said('leads nowhere'), 1);
    assert.equal(said('failed to poll model repository'), 1);
    assert.equal(said('successfully unloaded'), 0);
    unlinkSync(link);
    for (const end of [close, store.close]) await end();
  });

  test('a roll-back is followed: a link switched back, and a file with an older time', BOUND, async () => {
    const version = (text: string) => config('a', `parameters { key: "v" value { string_value: "${text}" } }`);
    const other = await startEngine(
      { 'old/config.pbtxt': version('old'), 'old/1/': '', 'new/config.pbtxt': version('new'), 'new/1/': '' },
      { backends: [new GatedBackend()], modelControlMode: 'explicit' },
    );
    const { engine, repository, write, logged, close } = await follow({});
    const link = path.join(repository, 'a');
    const value = () => engine.model('a', '').config.parameters.get('v')?.string_value;
    for (const [i, to] of ['new', 'old', 'new', 'old'].entries()) {
      if (i > 0) unlinkSync(link);
      symlinkSync(path.join(other.repository, to), link);
      await logged("I successfully loaded 'a'", i + 1);
      while (value() !== to) await new Promise((resolve) => setImmediate(resolve));
    }
    write({ 'b/config.pbtxt': config('b'), 'b/1/': '' });
    await logged("I successfully loaded 'b'");
    utimesSync(path.join(repository, 'b/config.pbtxt'), 1, 1);
    await logged("I successfully loaded 'b'", 2);
    utimesSync(path.join(repository, 'b/config.pbtxt'), 9e9, 9e9);
    await logged("I successfully loaded 'b'", 3);
    for (const end of [close, other.close]) await end();
  });

  test('nothing is looked at with an interval of 0, or after the stop', BOUND, async () => {
    const { engine, repository, log, close } = await follow({}, { repositoryPollSeconds: 0 });
    mkdirSync(path.join(repository, 'lost+found'));
    await engine.index(false);
    await close();
    assert.deepEqual(
      log.filter((line) => line.includes('lost+found')),
      [],
    );
  });
});
