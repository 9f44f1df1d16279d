/** A backend is one `traits.ts` and one line of the catalogue: everything else follows from them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  infer,
  int32,
  int32Values,
  makeRequest,
  settle,
  startEngine,
} from '../../test/support/engine/engine-harness.js';
import { makeRepository } from '../../test/support/repositories/make-repository.js';
import { nowNs } from '../base/clock.js';
import type { Backend } from '../contract/backend.js';
import type { BackendCatalogue, BackendTraits } from '../contract/backend-traits.js';
import { validateRepositories } from '../tools/validate-repository.js';
import { CATALOGUE } from './catalogue.js';
import { BackendRegistry } from './registry.js';

/** Doubles its first input; completes configurations without tensors. */
const backend: Backend = {
  autoComplete: async (_location, config) => config,
  load: async () => ({
    createInstance: async ({ name }) => ({
      name,
      concurrency: 1,
      execute: (batch) => {
        const now = nowNs();
        for (const request of batch) {
          const [input] = request.inputs;
          const values = new Int32Array(new Uint8Array(input!.data).buffer).map((value) => 2 * value);
          request.respond({ outputs: [{ ...input!, name: 'OUT', data: new Uint8Array(values.buffer) }] }, true);
        }
        return { computeStart: now, inputEnd: now, outputStart: now, computeEnd: now };
      },
      close: async () => {},
    }),
    unload: async () => {},
  }),
};

const doubling: BackendTraits = {
  name: 'doubling',
  formats: [{ platform: 'doubling_toy', fileName: 'model.toy' }],
  aliases: ['twice'],
  defaultCounts: { KIND_CPU: 3 },
  optionalInputs: true,
  codeFile: '/doubling.js',
  load: async () => backend,
};

const catalogue: BackendCatalogue = [...CATALOGUE, doubling];

const IO = `input [
    { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] },
    { name: "MORE" data_type: TYPE_INT32 dims: [ 1 ] optional: true }
  ] output { name: "OUT" data_type: TYPE_INT32 dims: [ -1 ] }`;

async function findings(files: Readonly<Record<string, string>>): Promise<string[]> {
  const repository = makeRepository(files);
  try {
    const registry = new BackendRegistry(undefined, catalogue);
    const report = await validateRepositories([repository.path], {
      backends: catalogue,
      autoComplete: true,
      host: {
        backends: catalogue,
        gpus: [],
        hasBackend: (name) => registry.traits(name) !== undefined,
        supportsOptionalInputs: (name) => registry.traits(name)?.optionalInputs ?? false,
        backendDirectory: '/b',
      },
      backendConfig: () => new Map(),
      findExaminer: (name) => registry.examiner(name),
      run: { upTo: 'nothing', completionSeconds: 0, startSeconds: 0 },
    });
    return report.findings.map(({ rule, message, remedy }) =>
      `${rule}: ${message} ${remedy}`.replaceAll(repository.path, 'R'),
    );
  } finally {
    repository.remove();
  }
}

describe('a backend that is added to the catalogue', () => {
  test('its file shows the backend; platform, counts and optional inputs follow; its models execute', async () => {
    const { engine, close } = await startEngine({ 'm/config.pbtxt': IO, 'm/1/model.toy': 'x' }, { catalogue });
    try {
      const model = engine.model('m', '');
      const { backend: name, platform, default_model_filename: file, instance_group: groups } = model.config;
      assert.deepEqual([name, platform, file], ['doubling', 'doubling_toy', 'model.toy']);
      assert.deepEqual(
        groups.map(({ count }) => count),
        [3],
      );
      const response = await infer(model, makeRequest([int32('IN', [3], [1, 2, 3])]));
      assert.deepEqual(int32Values(response, 'OUT'), [2, 4, 6]);
      assert.deepEqual(
        engine.backendRows().map((row) => [row.name, row.path]),
        [['doubling', '/doubling.js']],
      );
      await settle();
    } finally {
      await close();
    }
  });

  test('the checker judges its models', async () => {
    assert.deepEqual(await findings({ 'm/config.pbtxt': IO, 'm/1/model.toy': 'x' }), []);
    assert.deepEqual(await findings({ 'm/config.pbtxt': `backend: "doubling" ${IO}`, 'm/1/.keep': '' }), [
      "model-file-missing: failed to stat file R/m/1/model.toy Put it there, or name it with 'default_model_filename'.",
    ]);
    const [misplaced] = await findings({ 'm/config.pbtxt': `backend: "doubling" ${IO}`, 'm/model.toy': 'x' });
    assert.match(misplaced!, /mv R\/m\/model\.toy R\/m\/1\/model\.toy$/);
    const [pair] = await findings({
      'm/config.pbtxt': `backend: "doubling" platform: "other" ${IO}`,
      'm/1/model.toy': 'x',
    });
    assert.match(pair!, /Write platform "doubling_toy", or leave 'platform' out\.$/);
    const [alias] = await findings({ 'm/config.pbtxt': `backend: "twice" ${IO}`, 'm/1/model.toy': 'x' });
    assert.match(alias!, /Did you mean 'doubling'\?$/);
  });
});
