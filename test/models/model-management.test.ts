/** The modes of model management, with real servers and the project's own clients. */
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { InferenceServerClient } from '../../src/client/api/client.js';
import { createClient } from '../../src/client/create-client.js';
import { makeTensor } from '../../src/protocol/tensor-values.js';
import { identityConfig, identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';

const FIXTURES = fileURLToPath(new URL('../../../fixtures/models', import.meta.url));
const TENSORS = [['TYPE_FP32', '[ 4 ]']] as const;
/** Reloads of the test under load; `TRITON_TEST_RELOADS=200` runs its long form. */
const RELOADS = Number(process.env['TRITON_TEST_RELOADS'] ?? 10);

/** An ensemble of one step. */
const ensemble = (name: string, member: string, maxBatchSize = 8): string => `name: "${name}"
platform: "ensemble"
max_batch_size: ${maxBatchSize}
input { name: "IN" data_type: TYPE_FP32 dims: [ 4 ] }
output { name: "OUT" data_type: TYPE_FP32 dims: [ 4 ] }
ensemble_scheduling { step {
  model_name: "${member}" model_version: -1
  input_map { key: "INPUT0" value: "IN" } output_map { key: "OUTPUT0" value: "OUT" }
} }
`;

const ensembleFiles = (name: string, member: string): Record<string, string> => ({
  [`${name}/config.pbtxt`]: ensemble(name, member),
  [`${name}/1/.keep`]: '',
});

interface Setup {
  readonly server: TestServer;
  readonly clients: readonly InferenceServerClient[];
  readonly repository: string;
  write(files: Readonly<Record<string, string>>): void;
  remove(name: string): void;
}

/** Runs a test with a server on these files and a client per protocol. */
async function withServer(
  files: Readonly<Record<string, string | Uint8Array>>,
  args: readonly string[],
  work: (setup: Setup) => Promise<void>,
): Promise<void> {
  const repository = makeRepository(files);
  const server = await startTestServer([repository.path], args);
  const clients = await Promise.all(
    (['http', 'grpc'] as const).map((protocol) => createClient({ protocol, url: `127.0.0.1:${server[protocol]}` })),
  );
  try {
    await work({
      server,
      clients,
      repository: repository.path,
      write(more) {
        for (const [name, content] of Object.entries(more)) {
          const target = path.join(repository.path, name);
          mkdirSync(path.dirname(target), { recursive: true });
          writeFileSync(target, content);
        }
      },
      remove(name) {
        const target = path.join(repository.path, name);
        rmSync(target, { recursive: true });
        // File systems keep times in steps of some milliseconds: a change right behind another may show none.
        const later = new Date(Date.now() + 2000);
        utimesSync(path.dirname(target), later, later);
      },
    });
  } finally {
    await Promise.all(clients.map((client) => client.close()));
    await server.stop();
    repository.remove();
  }
}

const ready = (name: string, version = '1') => ({ name, version, state: 'READY' as const });
const unloaded = (name: string, version = '1') => ({
  name,
  version,
  state: 'UNAVAILABLE' as const,
  reason: 'unloaded',
});

/** The index once nothing is on its way any more. */
async function settledIndex(client: InferenceServerClient) {
  for (;;) {
    const index = await client.repositoryIndex();
    if (!index.some(({ state }) => state === 'UNLOADING' || state === 'LOADING')) return index;
  }
}

describe('mode none', () => {
  test('changes are not followed, load and unload are refused', async () => {
    await withServer(identityModel('a', TENSORS), [], async ({ clients, write, remove }) => {
      write(identityModel('b', TENSORS) as Record<string, string>);
      const refusal = { message: 'explicit model load / unload is not allowed if polling is enabled' };
      for (const client of clients) {
        await assert.rejects(client.loadModel('b'), refusal);
        await assert.rejects(client.unloadModel('a'), refusal);
        assert.deepEqual(await client.repositoryIndex(), [ready('a'), { name: 'b' }]);
      }
      remove('a');
      assert.deepEqual(await clients[0]!.repositoryIndex(), [{ name: 'b' }]);
      assert.equal(await clients[1]!.isModelReady('a'), true);
    });
  });
});

describe('mode explicit', () => {
  const explicit = (...models: string[]) => [
    '--model-control-mode=explicit',
    ...models.map((name) => `--load-model=${name}`),
  ];

  test('only the named models serve; others come and go on request', async () => {
    const files = { ...identityModel('a', TENSORS), ...identityModel('b', TENSORS) };
    await withServer(files, explicit('a'), async ({ clients }) => {
      const [http, grpc] = clients as [InferenceServerClient, InferenceServerClient];
      assert.deepEqual(await http.repositoryIndex(), [ready('a'), { name: 'b' }]);
      await grpc.loadModel('b');
      await http.unloadModel('a');
      await http.unloadModel('never heard of');
      assert.deepEqual(await settledIndex(grpc), [unloaded('a'), ready('b')]);
      assert.deepEqual(await grpc.repositoryIndex(true), [ready('b')]);
      assert.equal(await http.isServerReady(), true);
      await assert.rejects(grpc.loadModel('c'), {
        code: 'INTERNAL',
        message: "failed to load 'c', failed to poll from model repository",
      });
    });
  });

  test('a star loads everything', async () => {
    const files = { ...identityModel('a', TENSORS), ...identityModel('b', TENSORS) };
    await withServer(files, explicit('*'), async ({ clients }) => {
      assert.deepEqual(await clients[0]!.repositoryIndex(), [ready('a'), ready('b')]);
    });
  });

  test('a configuration in the load call stands until the model is unloaded', async () => {
    await withServer(identityModel('a', TENSORS), explicit('a'), async ({ clients }) => {
      for (const [i, client] of clients.entries()) {
        const config = JSON.stringify({
          backend: 'identity',
          max_batch_size: 3 + i,
          input: [{ name: 'INPUT0', data_type: 'TYPE_FP32', dims: [4] }],
          output: [{ name: 'OUTPUT0', data_type: 'TYPE_FP32', dims: ['4'] }],
        });
        await client.loadModel('a', { config });
        assert.equal((await client.modelConfig('a')).max_batch_size, 3 + i);
        await client.loadModel('a');
        assert.equal((await client.modelConfig('a')).max_batch_size, 3 + i);
        await assert.rejects(client.loadModel('a', { config: '{"foo": 1}' }), { code: 'INTERNAL' });
        assert.equal((await client.modelConfig('a')).max_batch_size, 3 + i);
        await client.unloadModel('a');
        await client.loadModel('a');
        assert.equal((await client.modelConfig('a')).max_batch_size, 8);
      }
    });
  });

  test('a model of files in the load call needs no repository', async () => {
    const model = readFileSync(path.join(FIXTURES, 'simple/1/model.onnx'));
    await withServer({}, explicit(), async ({ clients }) => {
      for (const [i, client] of clients.entries()) {
        const name = `sent${i}`;
        await client.loadModel(name, {
          config: '{"backend":"onnxruntime","max_batch_size":2}',
          files: new Map([['file:4/model.onnx', model]]),
        });
        assert.deepEqual((await client.modelMetadata(name)).versions, ['4']);
        assert.deepEqual(await client.repositoryIndex(), []);
        await client.unloadModel(name);
        await assert.rejects(client.loadModel(name), { message: /failed to poll from model repository/ });
      }
    });
  });

  test('versions follow the policy, those that stay serve on', async () => {
    const config = (policy: string) => identityConfig('a', TENSORS, `max_batch_size: 8 version_policy { ${policy} }`);
    const files = { 'a/config.pbtxt': config('latest { num_versions: 1 }'), 'a/1/.keep': '', 'a/2/.keep': '' };
    await withServer(files, explicit('a'), async ({ server, clients, write, remove }) => {
      const [client] = clients as [InferenceServerClient];
      assert.deepEqual(await client.repositoryIndex(), [ready('a', '2')]);
      write({ 'a/config.pbtxt': config('all { }') });
      await client.loadModel('a');
      assert.deepEqual(await client.repositoryIndex(), [ready('a', '1'), ready('a', '2')]);
      assert.doesNotMatch(server.logText(), /successfully unloaded/);
      write({ 'a/config.pbtxt': config('specific { versions: [ 1, 7 ] }') });
      await client.loadModel('a');
      assert.deepEqual(await settledIndex(client), [ready('a', '1'), unloaded('a', '2')]);
      assert.match(server.logText(), /version 7 is specified for model 'a', but the version directory is not present/);
      remove('a/1');
      await assert.rejects(client.loadModel('a'), {
        code: 'INVALID_ARG',
        message:
          "load failed for model 'a': at least one version must be available under the version policy of model 'a'\n",
      });
      assert.equal(await client.isModelReady('a', '1'), true);
    });
  });

  test('a load that fails leaves what served before', async () => {
    await withServer(identityModel('a', TENSORS), explicit('a'), async ({ server, clients, write }) => {
      for (const client of clients) {
        write({ 'a/config.pbtxt': identityConfig('a', TENSORS, 'max_batch_size: 7 instance_group { gpus: [ 3 ] }') });
        await assert.rejects(client.loadModel('a'), { code: 'INVALID_ARG', message: /^load failed for model 'a': / });
        write({ 'a/config.pbtxt': 'nonsense' });
        await assert.rejects(client.loadModel('a'), { code: 'INTERNAL' });
        assert.deepEqual(await client.repositoryIndex(), [ready('a')]);
        assert.equal(await client.isServerReady(), true);
      }
      assert.match(server.logText(), /Poll failed for model directory 'a': failed to read text proto from/);
    });
  });

  test('ensembles bring their members, and take them along when asked to', async () => {
    const files = { ...identityModel('m', TENSORS), ...ensembleFiles('e', 'm') };
    await withServer(files, explicit(), async ({ clients, write }) => {
      for (const client of clients) {
        await client.loadModel('e');
        assert.deepEqual(await client.repositoryIndex(), [ready('e'), ready('m')]);
        await client.unloadModel('e', { unloadDependents: true });
        assert.deepEqual(await settledIndex(client), [unloaded('e'), unloaded('m')]);
        await client.loadModel('e');
        await client.unloadModel('e');
        assert.deepEqual(await settledIndex(client), [unloaded('e'), ready('m')]);
        await client.loadModel('e');
        await client.unloadModel('m');
        assert.deepEqual(await settledIndex(client), [unloaded('e'), unloaded('m')]);
        await client.loadModel('m');
        assert.deepEqual(await settledIndex(client), [ready('e'), ready('m')]);
        await client.unloadModel('e', { unloadDependents: true });
        assert.deepEqual(await settledIndex(client), [unloaded('e'), ready('m')]);
        await client.unloadModel('m');
        write({ 'm/note': '' });
      }
    });
  });

  test('loads of models that need each other end, however they meet', async () => {
    const files = {
      ...identityModel('m', TENSORS),
      ...ensembleFiles('e', 'm'),
      ...ensembleFiles('x', 'y'),
      ...ensembleFiles('y', 'x'),
    };
    await withServer(files, explicit(), async ({ clients }) => {
      const calls = ['e', 'm', 'x', 'y', 'e', 'x', 'm', 'y'].map((name, i) => clients[i % 2]!.loadModel(name));
      const ends = await Promise.allSettled(calls);
      assert.deepEqual(
        ends.map(({ status }) => status),
        ['fulfilled', 'fulfilled', 'rejected', 'rejected', 'fulfilled', 'rejected', 'fulfilled', 'rejected'],
      );
      assert.match(String((ends[2] as PromiseRejectedResult).reason), /circular dependency between ensembles: x -> /);
      assert.deepEqual(await clients[0]!.repositoryIndex(), [ready('e'), ready('m'), { name: 'x' }, { name: 'y' }]);
    });
  });

  test(`no request is lost while a model is loaded again ${RELOADS} times`, { timeout: 600_000 }, async () => {
    const config = readFileSync(path.join(FIXTURES, 'simple/config.pbtxt'), 'utf8');
    const files = {
      'simple/config.pbtxt': config,
      'simple/1/model.onnx': readFileSync(path.join(FIXTURES, 'simple/1/model.onnx')),
    };
    await withServer(files, explicit('simple'), async ({ server, clients, write }) => {
      const values = Int32Array.from({ length: 16 }, (_, i) => i);
      const call = {
        modelName: 'simple',
        inputs: [makeTensor('INPUT0', 'INT32', values, [1, 16]), makeTensor('INPUT1', 'INT32', values, [1, 16])],
      };
      let going = true;
      let answered = 0;
      const send = async (client: InferenceServerClient): Promise<void> => {
        while (going) {
          const result = await client.infer(call);
          assert.equal(result.output('OUTPUT0')?.data.byteLength, 64);
          answered++;
        }
      };
      const load = clients.flatMap((client) => Array.from({ length: 4 }, () => send(client)));
      try {
        for (let i = 1; i <= RELOADS; i++) {
          write({ 'simple/config.pbtxt': `${config}\nmetric_tags { key: "reload" value: "${i}" }\n` });
          await clients[i % 2]!.loadModel('simple');
        }
      } finally {
        going = false;
        await Promise.all(load);
      }
      assert.ok(answered > RELOADS, `${answered} requests were answered`);
      await server.logged("successfully unloaded 'simple' version 1", RELOADS);
      assert.deepEqual(await clients[0]!.repositoryIndex(), [ready('simple')]);
    });
  });
});

describe('mode poll', () => {
  const POLL = ['--model-control-mode=poll', '--repository-poll-secs=1'];

  test('models come, change, break, are repaired and go', { timeout: 120_000 }, async () => {
    const files = { ...identityModel('a', TENSORS), ...ensembleFiles('e', 'a') };
    await withServer(files, POLL, async ({ server, clients, write, remove, repository }) => {
      const [client] = clients as [InferenceServerClient];
      await assert.rejects(client.loadModel('a'), { code: 'UNAVAILABLE' });
      // A model that is copied in piece by piece may be seen half done: it is tried again.
      write(identityModel('b', TENSORS) as Record<string, string>);
      await server.logged("successfully loaded 'b'");
      assert.deepEqual(await client.repositoryIndex(), [ready('a'), ready('b'), ready('e')]);

      write({ 'b/config.pbtxt': identityConfig('b', TENSORS, 'max_batch_size: 5') });
      await server.logged("successfully unloaded 'b' version 1");
      assert.equal((await client.modelConfig('b')).max_batch_size, 5);

      write({ 'b/config.pbtxt': 'broken: yes' });
      await server.logged("Poll failed for model directory 'b'", 2);
      assert.equal((await client.modelConfig('b')).max_batch_size, 5);
      assert.equal(await client.isServerReady(), true);
      write({ 'b/config.pbtxt': identityConfig('b', TENSORS, 'max_batch_size: 6') });
      await server.logged("successfully unloaded 'b' version 1", 2);
      assert.equal((await client.modelConfig('b')).max_batch_size, 6);

      cpSync(path.join(repository, 'b/1'), path.join(repository, 'b/2'), { recursive: true });
      await server.logged("successfully unloaded 'b' version 1", 3);
      assert.deepEqual((await client.modelMetadata('b')).versions, ['2']);

      write({ 'a/config.pbtxt': identityConfig('a', TENSORS, 'max_batch_size: 2') });
      await server.logged("successfully unloaded 'e' version 1");
      assert.match(
        server.logText(),
        /ensemble e allows maximum batch size 8, but it contains model a which only allows maximum batch size to be 2/,
      );
      write({ 'a/config.pbtxt': identityConfig('a', TENSORS) });
      await server.logged("successfully loaded 'e'", 2);

      remove('b');
      await server.logged("successfully unloaded 'b' version 2");
      assert.deepEqual(await client.repositoryIndex(), [ready('a'), ready('e')]);
      await assert.rejects(client.modelMetadata('b'), { code: 'NOT_FOUND' });
      assert.equal(await client.isServerReady(), true);
    });
  });

  test('a repository that is gone takes its models along and brings them back', { timeout: 120_000 }, async () => {
    const files = { 'r/.keep': '', ...prefixed('r', identityModel('a', TENSORS)) };
    const root = makeRepository(files);
    const server = await startTestServer([path.join(root.path, 'r')], POLL);
    const client = await createClient({ protocol: 'http', url: `127.0.0.1:${server.http}` });
    try {
      renameSync(path.join(root.path, 'r'), path.join(root.path, 'away'));
      await server.logged("successfully unloaded 'a' version 1");
      await assert.rejects(client.repositoryIndex(), { message: /^failed to open directory / });
      renameSync(path.join(root.path, 'away'), path.join(root.path, 'r'));
      await server.logged("successfully loaded 'a'", 2);
      assert.deepEqual(await client.repositoryIndex(), [ready('a')]);
    } finally {
      await client.close();
      await server.stop();
      root.remove();
    }
  });

  test('a hidden directory is warned of once', async () => {
    const files = { ...identityModel('a', TENSORS), 'lost+found/.keep': '' };
    await withServer(files, [...POLL, '--exit-on-error=false'], async ({ server, clients }) => {
      await server.logged("Poll failed for model directory 'lost+found'", 2);
      assert.equal(server.logText().split('is taken for a model').length, 2);
      assert.equal(await clients[0]!.isServerReady(), true);
    });
  });
});

describe('several repositories', () => {
  test('a name that is in two of them does not serve', async () => {
    const [one, two] = [makeRepository(identityModel('a', TENSORS)), makeRepository(identityModel('a', TENSORS))];
    const server = await startTestServer([one.path, two.path], ['--exit-on-error=false']);
    const client = await createClient({ protocol: 'grpc', url: `127.0.0.1:${server.grpc}` });
    try {
      assert.deepEqual(await client.repositoryIndex(true), [
        { name: 'a', state: 'UNAVAILABLE', reason: 'model appears in two or more repositories' },
      ]);
      assert.match(server.logText(), /failed to poll model 'a': not unique across all model repositories/);
    } finally {
      await client.close();
      await server.stop();
      for (const repository of [one, two]) repository.remove();
    }
  });

  test('with namespaces it serves twice, and its ensembles find their own', async () => {
    const one = makeRepository({ ...identityModel('a', TENSORS), ...ensembleFiles('e', 'a') });
    const two = makeRepository({
      ...identityModel('a', TENSORS),
      ...identityModel('b', TENSORS),
      ...ensembleFiles('f', 'b'),
    });
    const repositories = [one.path, two.path].sort();
    const server = await startTestServer(repositories, ['--model-namespacing=true']);
    const client = await createClient({ protocol: 'http', url: `127.0.0.1:${server.http}` });
    try {
      const index = await client.repositoryIndex();
      assert.deepEqual(index.map(({ name }) => name).sort(), ['a', 'a', 'b', 'e', 'f']);
      assert.ok(index.every(({ state }) => state === 'READY'));
      await assert.rejects(client.modelMetadata('a'), {
        code: 'INVALID_ARG',
        message:
          "There are 2 identifiers of model 'a' in global map, model namespace must be provided to resolve ambiguity.",
      });
      await assert.rejects(client.modelMetadata('zz'), { code: 'INVALID_ARG' });
      assert.equal(await client.isModelReady('a'), false);
      assert.equal((await client.modelMetadata('b')).name, 'b');
      for (const [name, repository] of [
        ['e', one.path],
        ['f', two.path],
      ] as const) {
        const step = (await client.modelConfig(name)).ensemble_scheduling?.step[0];
        assert.equal(step?.model_namespace, repository);
        const input = makeTensor('IN', 'FP32', [1, 2, 3, 4], [1, 4]);
        assert.equal((await client.infer({ modelName: name, inputs: [input] })).outputs[0]?.name, 'OUT');
      }
      assert.match(server.logText(), new RegExp(`\\| ${repositories[0]}::a +\\| 1 +\\| READY`));
      const metrics = await fetch(`http://127.0.0.1:${server.metrics}/metrics`).then((answer) => answer.text());
      for (const repository of repositories) {
        assert.ok(
          metrics.includes(`nv_inference_request_success{model="a",namespace="${repository}",version="1"}`),
          repository,
        );
      }
    } finally {
      await client.close();
      await server.stop();
      for (const repository of [one, two]) repository.remove();
    }
  });
});

function prefixed<T>(folder: string, files: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(files).map(([name, content]) => [`${folder}/${name}`, content]));
}
