import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPbtxt } from '../../modelconfig/pbtxt/read-pbtxt.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import { ModelGraph } from './model-graph.js';
import { type ModelPlace, modelId } from './poll/model-place.js';

const place = (name: string, namespace = ''): ModelPlace => ({
  id: modelId(namespace, name),
  name,
  namespace,
  directory: `${namespace}/${name}`,
});

const plain: ModelConfig = readPbtxt('backend: "b"').config;

function ensemble(name: string, members: readonly string[]): ModelConfig {
  const steps = members.map((member) => `step { model_name: "${member}" model_version: -1 }`);
  return readPbtxt(`name: "${name}" platform: "ensemble" ensemble_scheduling { ${steps.join(' ')} }`).config;
}

/** A graph of models by name or `namespace/name`; lists are the members of ensembles. `*` in front: only implied. */
function graphOf(models: Readonly<Record<string, readonly string[] | undefined>>): ModelGraph {
  const graph = new ModelGraph(new Map());
  for (const [key, members] of Object.entries(models)) {
    const [name = '', namespace = ''] = key.replace('*', '').split('/').reverse();
    graph.set(place(name, namespace), members === undefined ? plain : ensemble(name, members), !key.startsWith('*'));
  }
  return graph;
}

test('users of a model are found through ensembles of ensembles, also users of one that is missing', () => {
  const graph = graphOf({ m: undefined, inner: ['m'], outer: ['inner', 'n'], alone: ['x'] });
  assert.deepEqual(graph.usersOf([place('m')]).sort(), ['inner', 'outer']);
  assert.deepEqual(graph.usersOf([place('x')]), ['alone']);
  assert.deepEqual(graph.usersOf([place('outer')]), []);
  assert.deepEqual([...graph.relatedTo(['inner'])].sort(), ['inner', 'm', 'n', 'outer']);
});

test('members that nobody asked for go with the last ensemble that needs them', () => {
  const graph = graphOf({
    e: ['a', 'b', 'inner'],
    f: ['b'],
    '*inner': ['c'],
    '*a': undefined,
    '*b': undefined,
    '*c': undefined,
  });
  assert.deepEqual(
    graph
      .neededOnlyBy(['e'])
      .map(({ id }) => id)
      .sort(),
    ['a', 'c', 'inner'],
  );
  assert.deepEqual(
    graph
      .neededOnlyBy(['e', 'f'])
      .map(({ id }) => id)
      .sort(),
    ['a', 'b', 'c', 'inner'],
  );
  graph.ask('c');
  assert.deepEqual(
    graph
      .neededOnlyBy(['e'])
      .map(({ id }) => id)
      .sort(),
    ['a', 'inner'],
  );
  graph.set(place('a'), plain, true);
  graph.set(place('a'), plain, false);
  assert.deepEqual(
    graph.neededOnlyBy(['e']).map(({ id }) => id),
    ['inner'],
  );
});

test('a circle and missing members are faults of the place', () => {
  const graph = graphOf({ x: ['y'], y: ['x'], self: ['self'], lonely: ['nobody'], beside: ['x'] });
  assert.match(graph.checkPlace('x')?.message ?? '', /^circular dependency between ensembles: .* -> \.\.\. -> y -> /);
  assert.notEqual(graph.checkPlace('self'), undefined);
  assert.equal(graph.checkPlace('beside'), undefined);
  assert.match(graph.check('beside')?.message ?? '', /^ensemble 'beside' depends on 'x' which is not valid/);
  assert.match(
    graph.checkPlace('lonely')?.message ?? '',
    /contains models that are not available or ambiguous: nobody$/,
  );
});

test('with namespaces a step means its own, else the only one elsewhere', () => {
  const graph = graphOf({
    'r1/m': undefined,
    'r2/m': undefined,
    'r1/e': ['m'],
    'r2/only': undefined,
    'r1/far': ['only'],
    'r3/lost': ['m'],
  });
  assert.equal(graph.resolve('r1::e', 'm')?.id, 'r1::m');
  assert.equal(graph.resolve('r1::far', 'only')?.id, 'r2::only');
  assert.equal(graph.resolve('r3::lost', 'm'), undefined);
  assert.deepEqual(
    graph.named('m').map(({ id }) => id),
    ['r1::m', 'r2::m'],
  );
  assert.deepEqual(graph.usersOf([place('m', 'r2')]), ['r3::lost']);
  assert.deepEqual(graph.usersOf([place('m', 'r1')]).sort(), ['r1::e', 'r3::lost']);
  graph.delete('r1::m');
  assert.equal(graph.resolve('r3::lost', 'm')?.id, 'r2::m');
  assert.equal(graph.knows('m'), true);
  assert.equal(graph.knows('nothing'), false);
});
