/** Stand-ins of object stores that tests start: s3rver for S3, Azurite for Azure, gcp-storage-emulator for Google. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { AwsClient } from 'aws4fetch';
import { freePort } from '../machine/free-port.js';
import { temporaryDirectory } from '../machine/temporary-directory.js';
import { pythonWithGcsEmulator } from '../programs/python.js';
import { findTool } from '../programs/tools.js';

/** A running stand-in with one bucket (container) of the name `models`. */
export interface ObjectStoreStandIn {
  /** `s3://http://127.0.0.1:<port>/models`, `gs://models`, `as://devstoreaccount1/models` */
  readonly path: string;
  /** What a server needs to reach it with the right credentials. */
  readonly env: Readonly<Record<string, string>>;
  put(key: string, content: string | Uint8Array): Promise<void>;
  remove(key: string): Promise<void>;
  stop(): Promise<void>;
}

/** Longest that a stand-in may take to listen. */
const START_MS = 60_000;

const KEY = { id: 'S3RVER', secret: 'S3RVER' };
/** The account that every Azurite has; its key is public. */
const ACCOUNT = 'devstoreaccount1';
const ACCOUNT_KEY = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';

/** An S3 server, which looks at the key's id but not at signatures; undefined (skipped loudly) where it cannot be had. */
export async function startS3(): Promise<ObjectStoreStandIn | undefined> {
  const program = findTool('s3rver', { npm: 's3rver@3.7.1' });
  if (program === undefined) return undefined;
  const port = await freePort();
  const server = await startProcess(
    process.execPath,
    (data) => [...[program, '-d', data, '-a', '127.0.0.1', '-p', String(port), '--no-vhost-buckets']],
    port,
  );
  const url = `http://127.0.0.1:${port}/models`;
  const client = new AwsClient({
    accessKeyId: KEY.id,
    secretAccessKey: KEY.secret,
    service: 's3',
    region: 'us-east-1',
  });
  const call = async (method: string, key: string, body?: string | Uint8Array): Promise<void> => {
    const request = await client.sign(`${url}${key}`, { method, ...(body === undefined ? {} : { body }) });
    await expectOk(await fetch(request), key);
  };
  await call('PUT', '');
  return {
    path: `s3://http://127.0.0.1:${port}/models`,
    env: { AWS_ACCESS_KEY_ID: KEY.id, AWS_SECRET_ACCESS_KEY: KEY.secret },
    put: (key, content) => call('PUT', `/${encodeKey(key)}`, content),
    remove: (key) => call('DELETE', `/${encodeKey(key)}`),
    stop: () => server.stop(),
  };
}

/** Azure's own stand-in, which checks signatures too. */
export async function startAzurite(): Promise<ObjectStoreStandIn | undefined> {
  const program = findTool('azurite-blob', { npm: 'azurite@3.37.0' });
  if (program === undefined) return undefined;
  const port = await freePort();
  const server = await startProcess(
    process.execPath,
    (data) => [
      ...[program, '--location', data, '--blobHost', '127.0.0.1', '--blobPort', String(port)],
      ...['--silent', '--skipApiVersionCheck', '--disableTelemetry'],
    ],
    port,
  );
  const endpoint = `http://127.0.0.1:${port}/${ACCOUNT}`;
  const call = async (method: string, key: string, query = '', body: Uint8Array | string = ''): Promise<void> => {
    const bytes = Buffer.from(body);
    const target = `/${ACCOUNT}/models${key}`;
    const headers: Record<string, string> = {
      ...(method === 'PUT' && query === '' ? { 'x-ms-blob-type': 'BlockBlob' } : {}),
      'x-ms-date': new Date().toUTCString(),
      'x-ms-version': '2021-08-06',
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`);
    const length = bytes.length === 0 ? '' : String(bytes.length);
    const type = 'application/octet-stream';
    const resource = `/${ACCOUNT}${target}${query === '' ? '' : `\n${query.slice(1).replace('=', ':')}`}`;
    const text = `${[method, '', '', length, '', type, '', '', '', '', '', ''].join('\n')}\n${lines.join('')}${resource}`;
    const signature = createHmac('sha256', Buffer.from(ACCOUNT_KEY, 'base64')).update(text).digest('base64');
    const answer = await fetch(`http://127.0.0.1:${port}${target}${query}`, {
      method,
      headers: { ...headers, 'content-type': type, authorization: `SharedKey ${ACCOUNT}:${signature}` },
      ...(method === 'DELETE' ? {} : { body: bytes }),
    });
    await expectOk(answer, key);
  };
  await call('PUT', '', '?restype=container');
  return {
    path: `as://${ACCOUNT}/models`,
    env: {
      AZURE_STORAGE_ACCOUNT: ACCOUNT,
      AZURE_STORAGE_KEY: ACCOUNT_KEY,
      AZURE_STORAGE_SERVICE_ENDPOINT: endpoint,
    },
    put: (key, content) => call('PUT', `/${encodeKey(key)}`, '', content),
    remove: (key) => call('DELETE', `/${encodeKey(key)}`),
    stop: () => server.stop(),
  };
}

/** A stand-in of Google's store; it asks nobody who they are. */
export async function startGcs(): Promise<ObjectStoreStandIn | undefined> {
  const python = pythonWithGcsEmulator();
  if (python === undefined) return undefined;
  const port = await freePort();
  const server = await startProcess(
    python,
    () => [...['-m', 'gcp_storage_emulator', 'start', '--host=127.0.0.1', `--port=${port}`, '--in-memory']],
    port,
  );
  const base = `http://127.0.0.1:${port}`;
  const call = async (method: string, target: string, body?: string | Uint8Array): Promise<void> => {
    const headers = { 'content-type': target.startsWith('/upload') ? 'application/octet-stream' : 'application/json' };
    await expectOk(
      await fetch(`${base}${target}`, { method, headers, ...(body === undefined ? {} : { body }) }),
      target,
    );
  };
  await call('POST', '/storage/v1/b?project=test', JSON.stringify({ name: 'models' }));
  return {
    path: 'gs://models',
    env: { STORAGE_EMULATOR_HOST: base },
    put: (key, content) =>
      call(
        'POST',
        `/upload/storage/v1/b/models/o?uploadType=media&name=${encodeURIComponent(key)}`,
        // It cannot take empty objects.
        content.length === 0 ? '\n' : content,
      ),
    remove: (key) => call('DELETE', `/storage/v1/b/models/o/${encodeURIComponent(key)}`),
    stop: () => server.stop(),
  };
}

function encodeKey(key: string): string {
  return key.split('/').map(encodeURIComponent).join('/');
}

async function expectOk(answer: Response, what: string): Promise<void> {
  if (!answer.ok) throw new Error(`the stand-in refused ${what}: ${answer.status} ${await answer.text()}`);
  await answer.arrayBuffer();
}

/** Starts a program with a directory of its own, and waits until it responds over HTTP. */
async function startProcess(program: string, args: (data: string) => readonly string[], port: number) {
  const directory = temporaryDirectory();
  const data = directory.path;
  const child: ChildProcess = spawn(program, args(data), { cwd: data, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-4000);
    });
  }
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await ended;
    directory.remove();
  };
  const end = performance.now() + START_MS;
  for (;;) {
    if (
      await fetch(`http://127.0.0.1:${port}/`).then(
        (answer) => answer.arrayBuffer(),
        () => undefined,
      )
    )
      break;
    if (child.exitCode !== null || performance.now() > end) {
      await stop();
      throw new Error(`${program} did not start:\n${said}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return { stop };
}
