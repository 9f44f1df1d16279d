import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, afterEach, beforeEach, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { TritonError } from '../../base/error.js';
import { SHIPPED_MODELS } from '../../base/package.js';
import { type FetchOptions, fetchModel } from './fetch-model.js';
import type { PublishedModel } from './published-models.js';

const MODEL = randomBytes(300_000);
const LABELS = Buffer.from('cat\ndog\n');
const CONFIG = 'platform: "onnxruntime_onnx"\n';
type Handler = (request: IncomingMessage, response: ServerResponse) => void;

let root = '';
let server: Server;
let base = '';
let handler: Handler;
let requests: { url: string; range: string | undefined }[];

beforeEach(async () => {
  root = mkdtempSync(path.join(tmpdir(), 'fetch-'));
  requests = [];
  server = createServer((request, response) => {
    requests.push({ url: request.url ?? '', range: request.headers.range });
    handler(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(root, { recursive: true });
});
after(() => {
  delete process.env['http_proxy'];
});

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

function published(name = 'm', changes: Partial<PublishedModel> = {}): PublishedModel {
  const file = (url: string, bytes: Buffer, place: string) => ({
    ...{ url: `${base}/${url}`, bytes: bytes.length, sha256: sha256(bytes), path: place },
  });
  const files = [file('model.onnx', MODEL, '1/model.onnx'), file('labels.txt', LABELS, 'labels.txt')];
  return { name, about: 'test', files, config: CONFIG, ...changes };
}

function fetched(model: PublishedModel, changes: Partial<FetchOptions> = {}) {
  const repository = path.join(root, 'models');
  const cache = path.join(root, 'cache');
  return fetchModel(model, { repository, cache, replace: false, delaysMs: [1, 1, 1], ...changes });
}

/** Serves the files in whole or in part, as a file server does. */
const serve: Handler = (request, response) => {
  const bytes = request.url?.endsWith('/model.onnx') ? MODEL : LABELS;
  const start = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0);
  if (start > 0) response.writeHead(206, { 'content-range': `bytes ${start}-${bytes.length - 1}/${bytes.length}` });
  response.end(bytes.subarray(start));
};

/** Ends the connection after some bytes of each response. */
const breaking =
  (after: number): Handler =>
  (request, response) => {
    if (request.url !== '/model.onnx') return serve(request, response);
    const start = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0);
    response.writeHead(start > 0 ? 206 : 200, {
      'content-length': MODEL.length - start,
      ...(start > 0 ? { 'content-range': `bytes ${start}-${MODEL.length - 1}/${MODEL.length}` } : {}),
    });
    const part = MODEL.subarray(start, start + after);
    response.write(part, () => {
      if (start + part.length < MODEL.length) response.destroy();
      else response.end();
    });
  };

function leftovers(): string[] {
  const cache = path.join(root, 'cache');
  const inside = existsSync(cache) ? readdirSync(cache).map((name) => `cache/${name}`) : [];
  const models = path.join(root, 'models');
  const made = existsSync(models) ? readdirSync(models).map((name) => `models/${name}`) : [];
  return [...readdirSync(root).filter((name) => name.startsWith('.')), ...inside, ...made].sort();
}

async function refused(work: Promise<unknown>): Promise<TritonError> {
  const reason = await work.then(
    () => assert.fail('it was fetched'),
    (error: unknown) => error,
  );
  assert.ok(reason instanceof TritonError, String(reason));
  return reason;
}

describe('fetchModel', () => {
  test('lays the model out, and nothing else is left', async () => {
    handler = serve;
    const seen: number[] = [];
    const { directory, replaced } = await fetched(published(), { onProgress: (_, bytes) => seen.push(bytes) });
    assert.equal(replaced, false);
    assert.deepEqual(readFileSync(path.join(directory, '1/model.onnx')), MODEL);
    assert.deepEqual(readFileSync(path.join(directory, 'labels.txt')), LABELS);
    assert.equal(readFileSync(path.join(directory, 'config.pbtxt'), 'utf8'), CONFIG);
    assert.ok(seen.includes(MODEL.length));
    assert.deepEqual(leftovers(), ['models/m']);
  });

  test('goes on where the connection broke, as often as it breaks', async () => {
    handler = breaking(100_000);
    await fetched(published());
    const ranges = requests.filter(({ url }) => url === '/model.onnx').map(({ range }) => range);
    assert.equal(ranges[0], undefined);
    assert.ok(ranges.length >= 3 && ranges.slice(1).every((range) => /^bytes=\d+-$/.test(range ?? '')), ranges.join());
    assert.deepEqual(leftovers(), ['models/m']);
  });

  test('gives up when nothing comes any more, keeps what has come, and goes on with it the next time', async () => {
    let first = true;
    handler = (request, response) => {
      if (!first) return void response.destroy();
      first = false;
      breaking(100_000)(request, response);
    };
    const error = await refused(fetched(published()));
    assert.equal(error.code, 'UNAVAILABLE');
    assert.match(error.message, /^cannot download from 127\.0\.0\.1:\d+: .*HTTPS_PROXY.*What has arrived is kept/);
    const [part, ...others] = leftovers();
    assert.match(part ?? '', /^cache\/.*-model\.onnx\.part$/);
    assert.deepEqual(others, []);
    const kept = statSync(path.join(root, part ?? '')).size;
    // What was on its way to the disk when the connection broke comes again.
    assert.ok(kept > 0 && kept <= 100_000, String(kept));
    const before = requests.length;
    handler = serve;
    await fetched(published());
    assert.equal(requests[before]?.range, `bytes=${kept}-`);
    assert.deepEqual(leftovers(), ['models/m']);
  });

  test('takes up nothing of another file: a wrong beginning is fetched again', async () => {
    handler = serve;
    const model = published();
    mkdirSync(path.join(root, 'cache'));
    const name = `${model.files[0]?.sha256.slice(0, 16)}-model.onnx.part`;
    writeFileSync(path.join(root, 'cache', name), Buffer.alloc(1000));
    const { directory } = await fetched(model);
    assert.deepEqual(readFileSync(path.join(directory, '1/model.onnx')), MODEL);
    assert.deepEqual(
      requests.filter(({ url }) => url === '/model.onnx').map(({ range }) => range),
      ['bytes=1000-', undefined],
    );
  });

  test('starts again where the server knows no parts', async () => {
    let count = 0;
    handler = (request, response) => {
      if (request.url === '/model.onnx' && count++ === 0) return breaking(50_000)(request, response);
      response.end(request.url === '/model.onnx' ? MODEL : LABELS);
    };
    const { directory } = await fetched(published());
    assert.deepEqual(readFileSync(path.join(directory, '1/model.onnx')), MODEL);
  });

  test('refuses another content, also of the right size, and keeps nothing', async () => {
    handler = (_, response) => response.end(Buffer.alloc(MODEL.length));
    const error = await refused(fetched(published()));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, /\/model\.onnx is not the file that was published: its SHA-256 is [0-9a-f]{64}, not /);
    assert.deepEqual(leftovers(), []);
  });

  test('refuses another size at once', async () => {
    handler = (_, response) => response.end('<!doctype html><p>Sign in');
    const error = await refused(fetched(published()));
    assert.match(error.message, /has 25 bytes, not 300000: it is not the file that was published/);
    assert.deepEqual(leftovers(), []);
    assert.equal(requests.length, 1);
  });

  test('reports what the server answered', async () => {
    handler = (_, response) => response.writeHead(404).end();
    const missing = await refused(fetched(published()));
    assert.equal(missing.code, 'NOT_FOUND');
    assert.match(missing.message, /\/model\.onnx answers 404 Not Found$/);
    assert.equal(requests.length, 1);
    handler = (_, response) => response.writeHead(503).end();
    assert.match((await refused(fetched(published()))).message, /answers 503 Service Unavailable/);
    assert.equal(requests.length, 5);
  });

  test('says so when nobody listens', async () => {
    const model = published();
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
    const error = await refused(fetched(model));
    assert.match(error.message, /^cannot download from 127\.0\.0\.1:\d+: connect ECONNREFUSED .*Is there a network\?/);
    assert.deepEqual(leftovers(), []);
    server = createServer().listen(0);
  });

  test('leaves nothing on a full disk', { skip: existsSync('/dev/full') ? false : 'no /dev/full here' }, async () => {
    handler = serve;
    const model = published();
    mkdirSync(path.join(root, 'cache'));
    symlinkSync('/dev/full', path.join(root, 'cache', `${model.files[0]?.sha256.slice(0, 16)}-model.onnx.part`));
    await assert.rejects(fetched(model), { code: 'ENOSPC' });
    assert.deepEqual(leftovers(), []);
  });

  test('replaces only what it may', async () => {
    handler = serve;
    const repository = path.join(root, 'models');
    mkdirSync(path.join(repository, 'm'), { recursive: true });
    writeFileSync(path.join(repository, 'm', 'mine'), 'x');
    assert.equal((await refused(fetched(published()))).code, 'ALREADY_EXISTS');
    assert.equal(requests.length, 0);
    handler = (_, response) => response.writeHead(404).end();
    await refused(fetched(published(), { replace: true }));
    assert.deepEqual(readdirSync(path.join(repository, 'm')), ['mine']);
    handler = serve;
    assert.equal((await fetched(published(), { replace: true })).replaced, true);
    assert.deepEqual(readdirSync(path.join(repository, 'm')).sort(), ['1', 'config.pbtxt', 'labels.txt']);
    assert.deepEqual(leftovers(), ['models/m']);
  });

  test('replaces the shipped demonstration model without being asked', async () => {
    handler = serve;
    const target = path.join(root, 'models', 'densenet_onnx');
    cpSync(path.join(SHIPPED_MODELS, 'densenet_onnx'), target, { recursive: true });
    await fetched(published('densenet_onnx'));
    assert.deepEqual(readFileSync(path.join(target, '1/model.onnx')), MODEL);
  });

  test('unpacks archives', async () => {
    const archive = gzipSync(tar({ './LICENSE': 'free', 'graph.pb': 'GRAPH', 'labels.txt': 'a\nb\n' }));
    handler = (_, response) => response.end(archive);
    const file = { url: `${base}/a.tar.gz`, bytes: archive.length, sha256: sha256(archive) };
    const members = { 'graph.pb': '1/model.graphdef', 'labels.txt': 'labels.txt' };
    const { directory } = await fetched(published('g', { files: [{ ...file, path: members }] }));
    assert.equal(readFileSync(path.join(directory, '1/model.graphdef'), 'utf8'), 'GRAPH');
    assert.equal(readFileSync(path.join(directory, 'labels.txt'), 'utf8'), 'a\nb\n');
    const lacking = await refused(fetched(published('h', { files: [{ ...file, path: { 'other.pb': '1/x' } }] })));
    assert.match(lacking.message, /does not hold other\.pb$/);
    assert.ok(!existsSync(path.join(root, 'models', 'h')));
  });

  test('goes through the proxy of the environment, and takes a mirror', async () => {
    handler = serve;
    const asked: string[] = [];
    const proxy = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      const { port } = server.address() as AddressInfo;
      const path = new URL(request.url ?? '').pathname;
      get({ host: '127.0.0.1', port, path, headers: request.headers }, (upstream) => {
        response.writeHead(upstream.statusCode ?? 0, upstream.headers);
        upstream.pipe(response);
      });
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    process.env['http_proxy'] = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    try {
      await fetched(published(), { mirror: 'http://models.example/mirror/' });
    } finally {
      delete process.env['http_proxy'];
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
    }
    assert.ok(
      asked.length > 0 && asked.every((line) => line.startsWith('GET http://models.example/mirror/')),
      asked.join(),
    );
    assert.equal(requests[0]?.url, '/mirror/model.onnx');
  });
});

/** A tar archive of small files. */
function tar(files: Readonly<Record<string, string>>): Buffer {
  const blocks = Object.entries(files).flatMap(([name, content]) => {
    const header = Buffer.alloc(512);
    header.write(name, 0);
    header.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124);
    header.write('0', 156);
    header.write('ustar\0', 257);
    return [header, Buffer.concat([Buffer.from(content), Buffer.alloc(512 - (content.length % 512))])];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}
