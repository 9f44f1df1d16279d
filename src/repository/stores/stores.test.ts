/** What the stand-ins of whole services do not show: pages, faults on the way, tokens. */
import assert from 'node:assert/strict';
import { createVerify, generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import {
  type GivenAnswer,
  type ReceivedRequest,
  startHttpStandIn,
} from '../../../test/support/servers/http-stand-in.js';
import { sharedKey } from './as/azure-credentials.js';
import { fetchObjects } from './fetch-objects.js';
import { openStore } from './open-store.js';
import { RemoteRepository } from './remote-repository.js';
import { parseS3Path } from './s3/s3-path.js';

const KEYS = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret' };

async function standIn(t: TestContext, answer: (request: ReceivedRequest) => GivenAnswer) {
  const server = await startHttpStandIn(answer);
  t.after(() => server.close());
  return server;
}

function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'triton-stores-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const s3Page = (keys: readonly string[], next = ''): string =>
  `<?xml version="1.0"?><ListBucketResult><EncodingType>url</EncodingType>${keys
    .map((key) => `<Contents><Key>${key}</Key><ETag>&quot;tag&quot;</ETag><Size>4</Size></Contents>`)
    .join('')}<IsTruncated>${next !== ''}</IsTruncated>${
    next === '' ? '' : `<NextContinuationToken>${next}</NextContinuationToken>`
  }</ListBucketResult>`;

test('the forms of s3:// paths', () => {
  const forms: readonly [string, string | undefined, string, string][] = [
    ['s3://bucket', undefined, 'bucket', ''],
    ['s3://bucket/a/b/', undefined, 'bucket', 'a/b'],
    ['s3://bucket//a///b//', undefined, 'bucket', 'a/b'],
    ['s3://host:9000/bucket/a', 'http://host:9000', 'bucket', 'a'],
    ['s3://http://host.local:9000/bucket', 'http://host.local:9000', 'bucket', ''],
    ['s3://https://10.0.0.1:443//bucket//a/b', 'https://10.0.0.1:443', 'bucket', 'a/b'],
  ];
  for (const [given, endpoint, bucket, root] of forms) {
    assert.deepEqual(parseS3Path(given), { endpoint, bucket, root }, given);
  }
  assert.throws(() => parseS3Path('s3://'), { message: "Invalid bucket name: ''" });
  assert.throws(() => parseS3Path('s3:////'), { message: "Invalid bucket name: '//'" });
  assert.throws(() => parseS3Path('s3://https://host/bucket'), /^TritonError: No bucket name found in path: s3:/);
});

test('paths of the other stores without a bucket', async () => {
  await assert.rejects(openStore('gs:///a', {}), {
    code: 'INTERNAL',
    message: 'No bucket name found in path: gs:///a',
  });
  await assert.rejects(openStore('as://account', {}), { message: 'Invalid azure storage path: as://account' });
});

test('listings in pages; names that XML cannot hold come encoded', async (t) => {
  const server = await standIn(t, ({ url }) => {
    const token = url.searchParams.get('continuation-token');
    return { body: token === null ? s3Page(['m/a+b'], 'x+y/z=') : s3Page(['m/%01%26']) };
  });
  const store = await openStore(`s3://${server.host}/bucket`, KEYS);
  const { objects } = await store.list('m/', false);
  assert.deepEqual(
    objects.map(({ key }) => key),
    ['m/a b', 'm/\u0001&'],
  );
  assert.equal(server.requests[1]?.url.searchParams.get('continuation-token'), 'x+y/z=');
});

test('what may pass is tried again; what lasts is reported', async (t) => {
  let failures = 2;
  const server = await standIn(t, () => (failures-- > 0 ? { status: 503 } : { body: s3Page(['m/a']) }));
  const store = await openStore(`s3://${server.host}/bucket`, KEYS);
  assert.equal((await store.list('m/', false)).objects.length, 1);
  assert.equal(server.requests.length, 3);
  failures = 100;
  await assert.rejects(store.list('m/', false), {
    message: 'Failed to list objects with prefix s3://bucket/m/ due to exception: , error message: HTTP status 503',
  });
});

test('the bucket of another region is asked for there', async (t) => {
  const server = await standIn(t, ({ headers }) =>
    headers.authorization?.includes('/eu-west-1/s3/') === true
      ? { body: s3Page([]) }
      : { status: 301, headers: { 'x-amz-bucket-region': 'eu-west-1' } },
  );
  const env = { ...KEYS, AWS_ENDPOINT_URL: `http://${server.host}` };
  const store = await openStore('s3://bucket', env);
  await store.check();
  await store.list('', true);
  assert.equal(server.requests.length, 3);
  const other = await standIn(t, ({ headers }) =>
    headers.authorization?.includes('/eu-west-1/s3/') === true
      ? { body: s3Page([]) }
      : { status: 400, body: '<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region></Error>' },
  );
  await (await openStore('s3://bucket', { ...env, AWS_ENDPOINT_URL: `http://${other.host}` })).check();
});

test('an unchanged model is fetched once; folders go when nobody has taken them over', async (t) => {
  let tag = 'first';
  let keys = ['m/1/file'];
  const server = await standIn(t, ({ url }) =>
    url.pathname === '/bucket/' ? { body: s3Page(keys).replaceAll('&quot;tag&quot;', tag) } : { body: 'text' },
  );
  const fetches = () => server.requests.filter(({ url }) => url.pathname !== '/bucket/').length;
  const mount = temporaryFolder(t);
  const env = { ...KEYS, TRITON_AWS_MOUNT_DIRECTORY: mount };
  const repository = await RemoteRepository.open(`s3://${server.host}/bucket`, env);
  const first = await repository.fetch('m');
  assert.equal((await repository.fetch('m')).folder, first.folder);
  assert.equal(fetches(), 1);
  tag = 'second';
  const second = await repository.fetch('m');
  assert.notEqual(second.signature, first.signature);
  assert.deepEqual(readdirSync(mount), [path.basename(second.folder)]);
  repository.own(second.folder);
  tag = 'third';
  const third = await repository.fetch('m');
  assert.equal(readdirSync(mount).length, 2);
  keys = [];
  await repository.listModels();
  assert.deepEqual(readdirSync(mount), [path.basename(second.folder)]);
  assert.notEqual(third.folder, second.folder);
  assert.equal(await repository.hasModel('m'), false);
  await assert.rejects(repository.fetch('m'), { message: `failed to stat file s3://${server.host}/bucket/m` });
});

test('keys of a profile; without keys requests are not signed', async (t) => {
  const server = await standIn(t, () => ({ body: s3Page([]) }));
  const folder = temporaryFolder(t);
  const credentials = path.join(folder, 'credentials');
  writeFileSync(
    credentials,
    '[default]\naws_access_key_id = a\n\n[work]\naws_access_key_id=key-of-work\naws_secret_access_key = s\n',
  );
  writeFileSync(path.join(folder, 'config'), '[profile work]\nregion = eu-north-1\n');
  const files = {
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_SHARED_CREDENTIALS_FILE: credentials,
    AWS_CONFIG_FILE: path.join(folder, 'config'),
  };
  for (const profile of ['work', 'default']) {
    await (await openStore(`s3://${server.host}/bucket`, { ...files, AWS_PROFILE: profile })).check();
  }
  assert.match(server.requests[0]?.headers.authorization ?? '', /Credential=key-of-work\/\d+\/eu-north-1\/s3\//);
  assert.equal(server.requests[1]?.headers.authorization, undefined);
});

test('keys of roles: of a service account, a container, a machine', async (t) => {
  const lent = (id: string): string =>
    JSON.stringify({ AccessKeyId: id, SecretAccessKey: 's', Token: `token-${id}`, Expiration: '2000-01-01T00:00:00Z' });
  const server = await standIn(t, ({ url, method, headers, body }) => {
    switch (`${method} ${url.pathname}`) {
      case 'POST /': {
        assert.equal(new URLSearchParams(body).get('WebIdentityToken'), 'proof');
        const keys = '<AccessKeyId>web</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>';
        const credentials = `<Credentials>${keys}<Expiration>2999-01-01T00:00:00Z</Expiration></Credentials>`;
        return {
          body: `<R><AssumeRoleWithWebIdentityResult>${credentials}</AssumeRoleWithWebIdentityResult></R>`,
        };
      }
      case 'GET /container':
        return headers.authorization === 'secret' ? { body: lent('container') } : { status: 401 };
      case 'PUT /latest/api/token':
        return { body: 'session' };
      case 'GET /latest/meta-data/iam/security-credentials/':
        return { body: 'role' };
      case 'GET /latest/meta-data/iam/security-credentials/role':
        return headers['x-aws-ec2-metadata-token'] === 'session' ? { body: lent('machine') } : { status: 401 };
      default:
        return { body: s3Page([]) };
    }
  });
  const folder = temporaryFolder(t);
  const file = path.join(folder, 'proof');
  writeFileSync(file, 'proof\n');
  const none = { AWS_SHARED_CREDENTIALS_FILE: path.join(folder, 'none'), AWS_CONFIG_FILE: path.join(folder, 'none') };
  const base = `http://${server.host}`;
  const container = { AWS_CONTAINER_CREDENTIALS_FULL_URI: `${base}/container` };
  const environments: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    web: { AWS_ROLE_ARN: 'role', AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ENDPOINT_URL_STS: base },
    container: { ...container, AWS_CONTAINER_AUTHORIZATION_TOKEN: 'secret' },
    machine: { AWS_EC2_METADATA_SERVICE_ENDPOINT: base },
  };
  for (const [id, environment] of Object.entries(environments)) {
    const store = await openStore(`s3://${server.host}/bucket`, { ...none, ...environment });
    await store.check();
    const { headers } = server.requests.at(-1) as ReceivedRequest;
    assert.match(headers.authorization ?? '', new RegExp(`Credential=${id}/`));
    assert.equal(headers['x-amz-security-token'], id === 'web' ? 't' : `token-${id}`);
  }
  // Keys that have expired are asked for again, before each request here; valid ones are kept.
  assert.equal(server.requests.filter(({ url }) => url.pathname === '/container').length, 2);
  assert.equal(server.requests.filter(({ method }) => method === 'POST').length, 1);
  await assert.rejects(openStore(`s3://${server.host}/bucket`, { ...none, ...container }), {
    message: /^Unable to create S3 filesystem client\. .*answered with HTTP status 401'$/,
  });
});

test('a transfer that breaks off is begun again; an object that was changed meanwhile is not fetched', async (t) => {
  let cuts = 1;
  const server = await standIn(t, ({ url, headers }) => {
    assert.equal(headers['if-match'], '"tag"');
    if (url.pathname.endsWith('/changed')) return { status: 412 };
    return cuts-- > 0 ? { body: 'text', cut: 2 } : { body: 'text' };
  });
  const store = await openStore(`s3://${server.host}/bucket`, KEYS);
  const folder = temporaryFolder(t);
  const object = (key: string) => ({ key, size: 4, version: '"tag"' });
  await fetchObjects(store, 'm/', [object('m/1/file'), { key: 'm/2/', size: 0, version: '' }], folder);
  assert.equal(readFileSync(path.join(folder, '1/file'), 'utf8'), 'text');
  assert.deepEqual(readdirSync(folder).sort(), ['1', '2']);
  await assert.rejects(fetchObjects(store, 'm/', [object('m/changed')], folder), /HTTP status 412/);
  for (const key of ['m/../x', 'm//x', 'm/a/./x']) {
    await assert.rejects(fetchObjects(store, 'm/', [object(key)], folder), /its name is not the path of a file$/, key);
  }
});

test('a fetch that fails leaves no folder', async (t) => {
  const server = await standIn(t, ({ url }) =>
    url.pathname === '/bucket/' ? { body: s3Page(['m/1/file']) } : { status: 403 },
  );
  const mount = temporaryFolder(t);
  const env = { ...KEYS, TRITON_AWS_MOUNT_DIRECTORY: mount };
  const repository = await RemoteRepository.open(`s3://${server.host}/bucket`, env);
  await assert.rejects(repository.fetch('m'), /Failed to get object at s3:\/\/bucket\/m\/1\/file due to exception/);
  assert.deepEqual(readdirSync(mount), []);
});

test('Google: tokens for service accounts and users, kept until they expire', async (t) => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  let expires = 3600;
  const server = await standIn(t, ({ url, body, headers }) => {
    if (url.pathname !== '/token') {
      assert.equal(headers.authorization, 'Bearer a-token');
      return { body: '{"items":[]}' };
    }
    const form = new URLSearchParams(body);
    if (form.get('grant_type') === 'refresh_token') {
      assert.equal(form.get('refresh_token'), 'again');
    } else {
      const [head, claims, signature] = (form.get('assertion') ?? '').split('.') as [string, string, string];
      assert.ok(createVerify('RSA-SHA256').update(`${head}.${claims}`).verify(publicKey, signature, 'base64url'));
      const { iss, aud, scope } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as Record<string, string>;
      assert.equal(iss, 'me@project');
      assert.equal(aud, `http://${server.host}/token`);
      assert.equal(scope, 'https://www.googleapis.com/auth/devstorage.read_only');
    }
    return { body: JSON.stringify({ access_token: 'a-token', expires_in: expires }) };
  });
  const file = path.join(temporaryFolder(t), 'google.json');
  const env = { STORAGE_EMULATOR_HOST: server.host, GOOGLE_APPLICATION_CREDENTIALS: file };
  const asked = () => server.requests.filter(({ url }) => url.pathname === '/token').length;
  const token_uri = `http://${server.host}/token`;
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' });
  writeFileSync(
    file,
    JSON.stringify({ type: 'service_account', client_email: 'me@project', private_key: key, token_uri }),
  );
  const store = await openStore('gs://bucket', env);
  await store.check();
  await store.list('', true);
  assert.equal(asked(), 1);
  expires = 1;
  const user = { type: 'authorized_user', client_id: 'c', client_secret: 's', refresh_token: 'again', token_uri };
  writeFileSync(file, JSON.stringify(user));
  const other = await openStore('gs://bucket', env);
  await other.check();
  await other.list('', true);
  assert.equal(asked(), 3);
  writeFileSync(file, '{"type":"external_account"}');
  await assert.rejects(openStore('gs://bucket', env), /is of type 'external_account'; 'service_account' and/);
});

test('Google: the account of the machine, where it has one', async (t) => {
  const server = await standIn(t, ({ url, headers }) => {
    if (!url.pathname.startsWith('/computeMetadata/')) return { status: 404 };
    assert.equal(headers['metadata-flavor'], 'Google');
    return { body: '{"access_token":"of-machine","expires_in":3600}' };
  });
  const { googleToken } = await import('./gs/google-token.js');
  assert.equal(await (await googleToken(undefined, { GCE_METADATA_HOST: server.host }))?.(), 'of-machine');
  server.close();
  assert.equal(await googleToken(undefined, { GCE_METADATA_HOST: server.host }), undefined);
});

test('Azure: identities, and signatures that come with the path', async (t) => {
  const list = '<EnumerationResults><Blobs></Blobs><NextMarker/></EnumerationResults>';
  const server = await standIn(t, ({ url, headers, body }) => {
    if (url.pathname === '/identity') {
      assert.equal(headers['x-identity-header'], 'shared');
      assert.equal(url.searchParams.get('client_id'), 'mine');
      return { body: '{"access_token":"of-machine","expires_in":"3600"}' };
    }
    if (url.pathname === '/tenant/oauth2/v2.0/token') {
      assert.equal(new URLSearchParams(body).get('client_secret'), 'hidden');
      return { body: '{"access_token":"of-secret","expires_in":3600}' };
    }
    return { body: list };
  });
  const env = { AZURE_STORAGE_SERVICE_ENDPOINT: `http://${server.host}` };
  const ofMachine = { IDENTITY_ENDPOINT: `http://${server.host}/identity`, IDENTITY_HEADER: 'shared' };
  const ofSecret = {
    AZURE_TENANT_ID: 'tenant',
    AZURE_CLIENT_SECRET: 'hidden',
    AZURE_AUTHORITY_HOST: `http://${server.host}`,
  };
  const check = async (place: string, more: Readonly<Record<string, string>>) => {
    await (await openStore(place, { ...env, ...more })).check();
    return server.requests.at(-1) as ReceivedRequest;
  };
  const client = { AZURE_STORAGE_CLIENT_ID: 'mine' };
  const first = await check('as://a/c', { AZURE_STORAGE_AUTH_TYPE: 'managed_identity', ...client, ...ofMachine });
  assert.equal(first.headers.authorization, 'Bearer of-machine');
  const second = await check('as://a/c', { AZURE_STORAGE_AUTH_TYPE: 'default', ...client, ...ofSecret });
  assert.equal(second.headers.authorization, 'Bearer of-secret');
  const third = await check('as://a.blob.core.windows.net/c/models?sv=1&sig=x%2By', {});
  assert.equal(third.headers.authorization, undefined);
  assert.equal(third.url.searchParams.get('sig'), 'x+y');
  assert.equal(third.url.searchParams.get('prefix'), 'models/');
  await assert.rejects(check('as://a/c', { AZURE_STORAGE_AUTH_TYPE: 'other' }), /unknown Azure auth_type 'other'/);
});

test('Azure: the signature covers the query in order of its names', () => {
  const key = { account: 'a', key: Buffer.from('key') };
  const headers = { 'x-ms-date': 'now', 'x-ms-version': 'v' };
  const signed = (query: string): string => sharedKey(key, new URL(`http://host/c?${query}`), headers);
  assert.equal(signed('b=1&a=2'), signed('a=2&b=1'));
  assert.notEqual(signed('a=1&b=2'), signed('a=2&b=1'));
  assert.match(signed('a=1'), /^SharedKey a:[A-Za-z0-9+/]{43}=$/);
});
