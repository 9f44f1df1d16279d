import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPbtxt } from '../../../modelconfig/pbtxt/read-pbtxt.js';
import type { ModelConfig } from '../../../protocol/proto/model-config.js';
import { modelId } from '../poll/model-place.js';
import type { Polled } from '../poll/model-poller.js';
import { checkMembers, checkPlace } from './check-ensemble.js';
import { ModelEntry } from './model-entry.js';
import { ModelTable } from './model-table.js';

/** What polling would find; its files do not matter here. */
function polled(name: string, namespace: string, config: ModelConfig, asked: boolean): Polled {
  const place = { id: modelId(namespace, name), name, namespace, directory: `${namespace}/${name}` };
  const model = { config } as Polled['model'];
  const { directory: folder } = place;
  return { place, folder, signature: '', model, times: new Map(), override: undefined, temporary: false, asked };
}

const plain: ModelConfig = readPbtxt('backend: "b"').config;

function ensemble(name: string, members: readonly string[]): ModelConfig {
  const steps = members.map((member) => `step { model_name: "${member}" model_version: -1 }`);
  return readPbtxt(`name: "${name}" platform: "ensemble" ensemble_scheduling { ${steps.join(' ')} }`).config;
}

/** A table of models by name or `namespace/name`; lists are the members of ensembles. `*` in front: only implied. */
function tableOf(models: Readonly<Record<string, readonly string[] | undefined>>): ModelTable {
  const table = new ModelTable();
  for (const [key, members] of Object.entries(models)) {
    const [name = '', namespace = ''] = key.replace('*', '').split('/').reverse();
    table.enter(polled(name, namespace, members === undefined ? plain : ensemble(name, members), !key.startsWith('*')));
  }
  return table;
}

const idsOf = (entries: readonly ModelEntry[]): string[] => entries.map(({ id }) => id).sort();

/** The entry of a model, also of one that was never polled. */
function at(table: ModelTable, name: string, namespace = ''): ModelEntry {
  return table.get(modelId(namespace, name)) ?? new ModelEntry(modelId(namespace, name), name, namespace);
}

test('users of a model are found through ensembles of ensembles, also users of one that is missing', () => {
  const table = tableOf({ m: undefined, inner: ['m'], outer: ['inner', 'n'], alone: ['x'] });
  assert.deepEqual(idsOf(table.usersOf([at(table, 'm')])), ['inner', 'outer']);
  assert.deepEqual(idsOf(table.usersOf([at(table, 'x')])), ['alone']);
  assert.deepEqual(idsOf(table.usersOf([at(table, 'outer')])), []);
  assert.deepEqual([...table.relatedTo(['inner'])].sort(), ['inner', 'm', 'n', 'outer']);
});

test('members that nobody asked for go with the last ensemble that needs them', () => {
  const table = tableOf({
    e: ['a', 'b', 'inner'],
    f: ['b'],
    '*inner': ['c'],
    '*a': undefined,
    '*b': undefined,
    '*c': undefined,
  });
  const [e, f] = [at(table, 'e'), at(table, 'f')];
  assert.deepEqual(idsOf(table.neededOnlyBy([e])), ['a', 'c', 'inner']);
  assert.deepEqual(idsOf(table.neededOnlyBy([e, f])), ['a', 'b', 'c', 'inner']);
  at(table, 'c').asked = true;
  assert.deepEqual(idsOf(table.neededOnlyBy([e])), ['a', 'inner']);
  table.enter(polled('a', '', plain, true));
  table.enter(polled('a', '', plain, false));
  assert.deepEqual(idsOf(table.neededOnlyBy([e])), ['inner']);
});

test('a circle and missing members are faults of the place', () => {
  const table = tableOf({ x: ['y'], y: ['x'], self: ['self'], lonely: ['nobody'], beside: ['x'] });
  const place = (name: string) => checkPlace(table, at(table, name))?.message;
  assert.match(place('x') ?? '', /^circular dependency between ensembles: .* -> \.\.\. -> y -> /);
  assert.notEqual(place('self'), undefined);
  assert.equal(place('beside'), undefined);
  const beside = checkMembers(table, at(table, 'beside'))?.message ?? '';
  assert.match(beside, /^ensemble 'beside' depends on 'x' which is not valid/);
  assert.match(place('lonely') ?? '', /contains models that are not available or ambiguous: nobody$/);
});

test('with namespaces a step means its own, else the only one elsewhere', () => {
  const table = tableOf({
    'r1/m': undefined,
    'r2/m': undefined,
    'r1/e': ['m'],
    'r2/only': undefined,
    'r1/far': ['only'],
    'r3/lost': ['m'],
  });
  assert.equal(table.resolve(at(table, 'e', 'r1'), 'm')?.id, 'r1::m');
  assert.equal(table.resolve(at(table, 'far', 'r1'), 'only')?.id, 'r2::only');
  assert.equal(table.resolve(at(table, 'lost', 'r3'), 'm'), undefined);
  assert.deepEqual(idsOf(table.named('m')), ['r1::m', 'r2::m']);
  assert.deepEqual(idsOf(table.usersOf([at(table, 'm', 'r2')])), ['r3::lost']);
  assert.deepEqual(idsOf(table.usersOf([at(table, 'm', 'r1')])), ['r1::e', 'r3::lost']);
  table.leave(at(table, 'm', 'r1'));
  assert.equal(table.resolve(at(table, 'lost', 'r3'), 'm')?.id, 'r2::m');
  assert.equal(table.knows('m'), true);
  assert.equal(table.knows('nothing'), false);
});
