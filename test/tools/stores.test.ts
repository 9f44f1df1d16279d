/** Model repositories in object stores, against stand-ins of the three services. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import tls from 'node:tls';
import { fileURLToPath } from 'node:url';
import { createClient } from '../../src/client/create-client.js';
import type { Tensor } from '../../src/protocol/tensor.js';
import { makeTensor, tensorValues } from '../../src/protocol/tensor-values.js';
import { RemoteRepository } from '../../src/repository/stores/remote-repository.js';
import { freePort } from '../support/machine/free-port.js';
import { temporaryDirectory } from '../support/machine/temporary-directory.js';
import { runTriton, TRITON } from '../support/programs/run-triton.js';
import { identityConfig, identityModel, makeRepository } from '../support/repositories/make-repository.js';
import { hasOpenssl, makeCertificates } from '../support/servers/certificates.js';
import { startHttpStandIn } from '../support/servers/http-stand-in.js';
import { type ObjectStoreStandIn, startAzurite, startGcs, startS3 } from '../support/servers/object-stores.js';
import { startTestServer, type TestServer } from '../support/servers/test-server.js';

const TENSORS = [['TYPE_FP32', '[ 4 ]']] as const;
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
/** The stand-ins may have to be installed first. */
const LIMIT_MS = 175_000;
const STARTERS = { s3: startS3, gs: startGcs, as: startAzurite } as const;
type Scheme = keyof typeof STARTERS;
const SCHEMES = Object.keys(STARTERS) as Scheme[];

/** Models are fetched into this directory. */
const mount = temporaryDirectory();
const stores: Partial<Record<Scheme, ObjectStoreStandIn>> = {};
const environment: Record<string, string> = {
  TRITON_AWS_MOUNT_DIRECTORY: mount.path,
  TRITON_GCS_MOUNT_DIRECTORY: mount.path,
  TRITON_AZURE_MOUNT_DIRECTORY: mount.path,
};

before(async () => {
  await Promise.all(
    SCHEMES.map(async (scheme) => {
      const store = await STARTERS[scheme]();
      if (store === undefined) return;
      stores[scheme] = store;
      Object.assign(environment, store.env);
    }),
  );
  // The servers of these tests run in this process.
  Object.assign(process.env, environment);
});

after(async () => {
  await Promise.all(Object.values(stores).map((store) => store.stop()));
  mount.remove();
});

/** The stand-in of a store; skips the test where it is not to be had (findTool has complained loudly). */
function storeOf(scheme: Scheme, t: TestContext): ObjectStoreStandIn | undefined {
  const store = stores[scheme];
  if (store === undefined) t.skip(`no stand-in for ${scheme}://`);
  return store;
}

/** The configuration comes last: a server that looks meanwhile sees no half of a model. */
async function putModel(store: ObjectStoreStandIn, root: string, name: string): Promise<void> {
  for (const [key, content] of Object.entries(identityModel(name, TENSORS)).reverse()) {
    await store.put(`${root}/${key}`, content);
  }
}

async function checkServes(server: TestServer, model: string): Promise<void> {
  const client = await createClient({ protocol: 'http', url: `127.0.0.1:${server.http}` });
  try {
    const inputs = [makeTensor('INPUT0', 'FP32', [1, 2, 3, 4], [1, 4])];
    const output = (await client.infer({ modelName: model, inputs })).output('OUTPUT0');
    assert.deepEqual(tensorValues(output as Tensor), [1, 2, 3, 4]);
  } finally {
    await client.close();
  }
}

/** Removal goes on after the call that caused it. */
async function untilFetched(count: number): Promise<void> {
  while (readdirSync(mount.path).length !== count) await new Promise((resolve) => setTimeout(resolve, 5));
}

for (const scheme of SCHEMES) {
  describe(`${scheme}://`, { timeout: LIMIT_MS }, () => {
    test('a polling server follows what is changed, added and removed', async (t) => {
      const store = storeOf(scheme, t);
      if (store === undefined) return;
      await putModel(store, 'poll/models', 'first');
      const args = ['--model-control-mode=poll', '--repository-poll-secs=1'];
      const server = await startTestServer([`${store.path}/poll/models`], args);
      try {
        assert.ok(server.logText().includes(`fetching model 'first' from ${store.path}/poll/models: 2 objects, `));
        await checkServes(server, 'first');
        await store.put('poll/models/first/config.pbtxt', identityConfig('first', TENSORS, 'max_batch_size: 2'));
        await server.logged("successfully unloaded 'first' version 1");
        assert.equal(server.engine.model('first', '').config.max_batch_size, 2);
        await putModel(store, 'poll/models', 'second');
        await server.logged("successfully loaded 'second'");
        await untilFetched(2);
        await store.remove('poll/models/first/1/.keep');
        await store.remove('poll/models/first/config.pbtxt');
        await server.logged("successfully unloaded 'first' version 1", 2);
        await untilFetched(1);
        const index = await server.engine.index(false);
        assert.deepEqual(index, [{ name: 'second', version: '1', state: 'READY' }]);
      } finally {
        await server.stop();
      }
      assert.deepEqual(readdirSync(mount.path), []);
    });

    test('on request: the index fetches nothing, a load one model, an unload removes it', async (t) => {
      const store = storeOf(scheme, t);
      if (store === undefined) return;
      for (const name of ['one', 'two']) await putModel(store, 'explicit', name);
      const server = await startTestServer([`${store.path}//explicit/`], ['--model-control-mode=explicit']);
      try {
        assert.deepEqual(await server.engine.index(false), [{ name: 'one' }, { name: 'two' }]);
        assert.deepEqual(readdirSync(mount.path), []);
        await server.engine.load('one', {});
        await checkServes(server, 'one');
        assert.equal(readdirSync(mount.path).length, 1);
        await server.engine.load('one', {});
        assert.equal(readdirSync(mount.path).length, 1);
        await server.engine.unload('one', false);
        await untilFetched(0);
        await assert.rejects(server.engine.load('three', {}), {
          message: "failed to load 'three', failed to poll from model repository",
        });
        await server.engine.load('one', {});
        await checkServes(server, 'one');
      } finally {
        await server.stop();
      }
      assert.deepEqual(readdirSync(mount.path), []);
    });

    test('a path with nothing below it, and one of an object', async (t) => {
      const store = storeOf(scheme, t);
      if (store === undefined) return;
      await store.put('object', 'text');
      await assert.rejects(RemoteRepository.open(`${store.path}/nowhere`), {
        message: `failed to stat file ${store.path}/nowhere`,
      });
      await assert.rejects(RemoteRepository.open(`${store.path}/object`), {
        message: 'repository path is not a valid directory',
      });
    });
  });
}

describe('object stores', { timeout: LIMIT_MS }, () => {
  test("missing buckets and wrong keys are reported with Triton's messages", async (t) => {
    const { s3, gs, as } = stores;
    if (s3 === undefined || gs === undefined || as === undefined) return t.skip('a stand-in is missing');
    const refused = async (repository: string, env: Readonly<Record<string, string>>, message: RegExp) =>
      await assert.rejects(RemoteRepository.open(repository, { ...environment, ...env }), {
        code: 'INTERNAL',
        message,
      });
    const s3Text = 'Unable to create S3 filesystem client\\. Check account credentials\\.';
    await refused(
      s3.path.replace(/models$/, 'other'),
      {},
      new RegExp(`^${s3Text} Exception: 'NoSuchBucket' Message: '.+'$`),
    );
    await refused(s3.path, { AWS_ACCESS_KEY_ID: 'no' }, new RegExp(`^${s3Text} Exception: 'InvalidAccessKeyId' `));
    const nobody = `127.0.0.1:${await freePort()}`;
    await refused(`s3://${nobody}/models`, {}, new RegExp(`^${s3Text} .*'cannot reach ${nobody}: `));
    const asText = /^Unable to create Azure filesystem client\. Check account credentials\. /;
    await refused(as.path.replace(/models$/, 'other'), {}, new RegExp(`${asText.source}ContainerNotFound: `));
    await refused(as.path, { AZURE_STORAGE_KEY: 'bm8=' }, new RegExp(`${asText.source}AuthorizationFailure: `));
    await refused('gs://other', {}, /^Could not get MetaData for bucket with name other : /);
    const messages: string[] = [];
    const wrong = [s3.path.replace(/models$/, 'other')];
    await assert.rejects(
      startTestServer(wrong, [], (part) => messages.push(part)),
      /^ServerStartError: error: creating server: Internal - Unable to create S3 filesystem client/,
    );
  });

  test('repositories of different stores serve together; a model that is there twice does not', async (t) => {
    const { s3, gs, as } = stores;
    if (s3 === undefined || gs === undefined || as === undefined) return t.skip('a stand-in is missing');
    const local = makeRepository(identityModel('local', TENSORS));
    const paths = [local.path];
    for (const [scheme, store] of Object.entries({ s3, gs, as })) {
      await putModel(store, 'together', `of_${scheme}`);
      await putModel(store, 'together', 'twice');
      paths.push(`${store.path}/together`);
    }
    const server = await startTestServer(paths, ['--exit-on-error=false']);
    try {
      for (const name of ['local', 'of_s3', 'of_gs', 'of_as']) await checkServes(server, name);
      await server.logged("failed to poll model 'twice': not unique across all model repositories");
      assert.equal(await server.engine.isModelReady('twice', ''), false);
    } finally {
      await server.stop();
      local.remove();
    }
    assert.deepEqual(readdirSync(mount.path), []);
  });

  test('a command that is interrupted while it fetches leaves nothing behind', async () => {
    const folder = makeRepository({});
    const page =
      '<ListBucketResult><Contents><Key>m/1/file</Key><ETag>"t"</ETag><Size>4</Size></Contents></ListBucketResult>';
    let onFetch = (): void => {};
    const store = await startHttpStandIn(({ url }) => {
      if (url.pathname === '/bucket/') return { body: page };
      onFetch();
      return { silent: true };
    });
    try {
      const args = [TRITON, 'repo', 'validate', `s3://${store.host}/bucket`];
      const env = { ...process.env, TMPDIR: folder.path, AWS_EC2_METADATA_DISABLED: 'true' };
      const child = spawn(process.execPath, args, { env, stdio: 'ignore', timeout: 50_000 });
      const ended = new Promise((resolve) => child.once('close', resolve));
      await new Promise<void>((resolve, reject) => {
        onFetch = resolve;
        child.once('close', (status) => reject(new Error(`ended with status ${status}`)));
      });
      assert.equal(readdirSync(folder.path).length, 1);
      child.kill('SIGINT');
      assert.equal(await ended, 130);
      assert.deepEqual(readdirSync(folder.path), []);
    } finally {
      store.close();
      folder.remove();
    }
  });

  test('an ONNX model serves from a store', async (t) => {
    const store = storeOf('s3', t);
    if (store === undefined) return;
    const file = readFileSync(path.join(ROOT, 'fixtures/models/simple/1/model.onnx'));
    await store.put('onnx/simple/1/model.onnx', file);
    const server = await startTestServer([`${store.path}/onnx`]);
    try {
      const { input } = server.engine.model('simple', '').config;
      assert.deepEqual(
        input.map(({ name }) => name),
        ['INPUT0', 'INPUT1'],
      );
    } finally {
      await server.stop();
    }
  });

  test('an endpoint over HTTPS, with an authority of its own', async (t) => {
    const store = storeOf('s3', t);
    if (store === undefined || !hasOpenssl()) return t.skip('no stand-in');
    const certificates = makeCertificates();
    const { certificate, key } = certificates.server;
    const target = Number(/:(\d+)\//.exec(store.path)?.[1]);
    const options = { cert: certificates.read(certificate), key: certificates.read(key) };
    const proxy = tls.createServer(options, (socket) => {
      const plain = net.connect(target, '127.0.0.1');
      socket.pipe(plain).pipe(socket);
      socket.on('error', () => plain.destroy());
      plain.on('error', () => socket.destroy());
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const repository = `s3://https://127.0.0.1:${(proxy.address() as net.AddressInfo).port}/models/secure`;
    try {
      await putModel(store, 'secure', 'model');
      const trusting = await runTriton(['repo', 'list', repository], {
        env: { NODE_EXTRA_CA_CERTS: certificates.authority },
      });
      assert.equal(trusting.status, 0, trusting.stderr);
      assert.match(trusting.stdout, /model .* identity .* ready/);
      const other = await runTriton(['repo', 'list', repository]);
      assert.equal(other.status, 1);
      assert.match(other.stderr, /Unable to create S3 filesystem client\. .* certificate/);
    } finally {
      proxy.close();
      certificates.remove();
    }
  });

  test('a credential file has keys by the beginnings of paths', async (t) => {
    const store = storeOf('s3', t);
    if (store === undefined) return;
    await putModel(store, 'by-file', 'model');
    const folder = makeRepository({});
    const file = path.join(folder.path, 'credentials.json');
    const env = { TRITON_CLOUD_CREDENTIAL_PATH: file, TRITON_AWS_MOUNT_DIRECTORY: mount.path };
    const right = { key_id: 'S3RVER', secret_key: 'S3RVER' };
    const wrong = { key_id: 'S3RVER', secret_key: 'no' };
    try {
      writeFileSync(file, JSON.stringify({ s3: { '': wrong, [store.path]: right, 's3://other': wrong } }));
      const repository = await RemoteRepository.open(`${store.path}/by-file`, env);
      assert.deepEqual(await repository.listModels(), ['model']);
      writeFileSync(file, JSON.stringify({ s3: { 's3://other': right } }));
      await assert.rejects(RemoteRepository.open(store.path, env), {
        code: 'NOT_FOUND',
        message: `Cannot match credential for path  ${store.path}`,
      });
    } finally {
      folder.remove();
    }
  });

  test('a store that is out of reach for a while takes no model out of service', async (t) => {
    const store = await startS3();
    if (store === undefined) return t.skip('no stand-in');
    await putModel(store, 'models', 'stays');
    const args = ['--model-control-mode=poll', '--repository-poll-secs=1'];
    const server = await startTestServer([`${store.path}/models`], args);
    try {
      await store.stop();
      // Reported once; each further look at the model's objects says that it failed.
      await server.logged(`failed to poll model repository '${store.path}/models': `);
      await server.logged(`Failed to determine modification time for '${store.path}/models/stays': `, 2);
      await checkServes(server, 'stays');
    } finally {
      await server.stop();
    }
  });

  test('a change that cannot be loaded leaves the old model serving, until it is repaired', async (t) => {
    const store = storeOf('s3', t);
    if (store === undefined) return;
    await putModel(store, 'broken', 'model');
    const args = ['--model-control-mode=poll', '--repository-poll-secs=1'];
    const server = await startTestServer([`${store.path}/broken`], args);
    try {
      await store.put('broken/model/config.pbtxt', 'nonsense: 1\n');
      await server.logged("Poll failed for model directory 'model': failed to read text proto from s3:");
      await checkServes(server, 'model');
      await store.put('broken/model/config.pbtxt', identityConfig('model', TENSORS, 'max_batch_size: 3'));
      await server.logged("successfully unloaded 'model' version 1");
      await checkServes(server, 'model');
      await untilFetched(1);
    } finally {
      await server.stop();
    }
    assert.deepEqual(readdirSync(mount.path), []);
  });

  test('a start that fails leaves nothing behind, and names files by their location in the store', async (t) => {
    const store = storeOf('s3', t);
    if (store === undefined) return;
    await store.put('faulty/model/config.pbtxt', 'nonsense: 1\n');
    await store.put('faulty/model/1/.keep', '');
    let log = '';
    await assert.rejects(
      startTestServer([`${store.path}/faulty`], [], (part) => {
        log += part;
      }),
      /creating server: Internal - failed to load all models/,
    );
    assert.ok(log.includes(`failed to read text proto from ${store.path}/faulty/model/config.pbtxt`), log);
    assert.deepEqual(readdirSync(mount.path), []);
  });

  test('repo validate takes such paths, shows them and leaves nothing behind', async (t) => {
    const store = storeOf('s3', t);
    if (store === undefined) return;
    await store.put('checked/model/config.pbtxt', `${identityConfig('model', TENSORS)}max_batch_sise: 1\n`);
    await store.put('checked/model/1/.keep', '');
    const folder = makeRepository({});
    const validate = (repository: string) =>
      runTriton(['repo', 'validate', repository], { env: { TMPDIR: folder.path } });
    try {
      const { status, stdout } = await validate(`${store.path}/checked`);
      assert.equal(status, 1);
      assert.match(stdout, new RegExp(`^${store.path}/checked/model/config\\.pbtxt:6:\\d+: error: `, 'm'));
      assert.match(stdout, /max_batch_sise: 1/);
      const missing = await validate(`${store.path}/none`);
      assert.equal(missing.status, 1);
      assert.match(missing.stderr, /failed to stat file s3:/);
      assert.deepEqual(readdirSync(folder.path), []);
    } finally {
      folder.remove();
    }
  });
});
