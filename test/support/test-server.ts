/** Starts real servers on free ports, on repositories that a test writes, and talks to them over real sockets. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import grpc from '@grpc/grpc-js';
import { fromBinary, toBinary } from '../../src/protocol/proto/codec.js';
import type { FieldTable, MessageOf, MessageSchema } from '../../src/protocol/proto/schema.js';
import { SERVICE_PATH } from '../../src/protocol/proto/service.js';
import { defaultLogSettings, ServerLog } from '../../src/server/log/server-log.js';
import { resolveOptions } from '../../src/server/options/resolve-options.js';
import { type RunningServer, startServer } from '../../src/server/server.js';
import { serverStarts, serverStopped } from './ledger/ledger.js';

/** A folder made of relative path -> content; removed by `remove`. */
export function makeRepository(files: Readonly<Record<string, string | Uint8Array>>): { path: string; remove(): void } {
  const root = mkdtempSync(path.join(tmpdir(), 'triton-test-'));
  for (const [name, content] of Object.entries(files)) {
    const target = path.join(root, name);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, content);
  }
  return { path: root, remove: () => rmSync(root, { recursive: true, force: true }) };
}

/** config.pbtxt of an identity model with tensors INPUT<n> of the given types; `more` is appended. */
export function identityConfig(
  name: string,
  tensors: readonly (readonly [type: string, dims: string])[],
  more = 'max_batch_size: 8',
): string {
  const lines = tensors.flatMap(([type, dims], n) => [
    `input { name: "INPUT${n}" data_type: ${type} dims: ${dims} }`,
    `output { name: "OUTPUT${n}" data_type: ${type} dims: ${dims} }`,
  ]);
  return [`name: "${name}"`, 'backend: "identity"', more, ...lines, ''].join('\n');
}

/** A model folder: configuration and an empty version 1. */
export function identityModel(
  name: string,
  tensors: readonly (readonly [type: string, dims: string])[],
  more?: string,
): Record<string, string> {
  return { [`${name}/config.pbtxt`]: identityConfig(name, tensors, more), [`${name}/1/.keep`]: '' };
}

/** A server with its log collected. */
export interface TestServer extends RunningServer {
  readonly http: number;
  readonly grpc: number;
  readonly metrics: number;
  /** Everything logged so far. */
  logText(): string;
  /** Resolves when the log has the text `times` times (default once), also from before the call; bounded. */
  logged(text: string, times?: number): Promise<void>;
}

/** Longest that a test waits for a line of the log. */
const LOG_WAIT_MS = 30_000;

/**
 * Starts a server on 127.0.0.1 and free ports. Its `stop` rejects when the server leaves anything behind (ledger/ledger.ts). `onLog` gets
 * what is logged, also of a start that fails.
 */
export async function startTestServer(
  repositories: readonly string[],
  args: readonly string[] = [],
  onLog: (part: string) => void = () => {},
): Promise<TestServer> {
  const line = [
    ...repositories.map((repository) => `--model-repository=${repository}`),
    ...['http', 'grpc', 'metrics'].flatMap((name) => [`--${name}-port=0`, `--${name}-address=127.0.0.1`]),
    ...args,
  ];
  const resolved = resolveOptions(line, () => {});
  if (resolved.kind !== 'serve') throw new Error(resolved.kind === 'error' ? resolved.message : 'help');
  let text = '';
  const waiting = new Set<() => void>();
  const add = (part: string): void => {
    text += part;
    onLog(part);
    for (const look of waiting) look();
  };
  const logged = (wanted: string, times = 1): Promise<void> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(look);
        reject(new Error(`the log lacks '${wanted}' (${times} times):\n${text}`));
      }, LOG_WAIT_MS);
      const look = (): void => {
        if (text.split(wanted).length <= times) return;
        clearTimeout(timer);
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
    });
  const log = new ServerLog(
    { ...defaultLogSettings, ...resolved.options.log },
    { stdout: add, stderr: add, width: 500 },
  );
  serverStarts();
  const server = await startServer(resolved.options, log).catch(async (reason) => {
    await serverStopped();
    throw reason;
  });
  const { http = 0, grpc: grpcPort = 0, metrics = 0 } = server.ports;
  let stopped: Promise<boolean> | undefined;
  const stop = (): Promise<boolean> => {
    stopped ??= server.stop().then(async (clean) => {
      await serverStopped();
      return clean;
    });
    return stopped;
  };
  return { ...server, stop, http, grpc: grpcPort, metrics, logText: () => text, logged };
}

/** An answer over HTTP. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
  /** The body as JSON; undefined when it is none. */
  readonly json: unknown;
}

/** One request over a connection of its own. */
export function httpRequest(
  port: number,
  method: string,
  target: string,
  body?: string | Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const request = http.request(
      { port, host: '127.0.0.1', method, path: target, headers, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const whole = Buffer.concat(chunks);
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: whole,
            text: whole.toString(),
            json: parse(whole.toString()),
          });
        });
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Sends bytes as they are and returns what comes until the server closes. */
export function rawExchange(port: number, bytes: string | Uint8Array): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = net.connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.setEncoding('latin1');
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.on('close', () => resolve(text));
    socket.on('error', reject);
  });
}

/** A gRPC client that knows the project's message tables only. */
export class TestGrpcClient {
  readonly client: grpc.Client;

  constructor(port: number, credentials = grpc.credentials.createInsecure(), options: grpc.ClientOptions = {}) {
    this.client = new grpc.Client(`127.0.0.1:${port}`, credentials, {
      'grpc.max_receive_message_length': -1,
      'grpc.max_send_message_length': -1,
      ...options,
    });
  }

  /** Calls a unary method by its name or full path. Rejects with grpc-js's error (code, details). */
  call<Q extends FieldTable, A extends FieldTable>(
    method: string,
    request: MessageSchema<Q>,
    response: MessageSchema<A>,
    message: MessageOf<MessageSchema<Q>>,
    metadata: Readonly<Record<string, string>> = {},
  ): Promise<MessageOf<MessageSchema<A>>> {
    return this.callBytes(method, toBinary(request, message), metadata).then((bytes) => fromBinary(response, bytes));
  }

  /** The same with encoded messages. */
  callBytes(method: string, message: Uint8Array, metadata: Readonly<Record<string, string>> = {}): Promise<Uint8Array> {
    const path_ = method.startsWith('/') ? method : SERVICE_PATH + method;
    return new Promise((resolve, reject) => {
      this.client.makeUnaryRequest(
        path_,
        (bytes: Uint8Array) => Buffer.from(bytes),
        (bytes: Buffer) => bytes,
        message,
        metadataOf(metadata),
        (error, answer) => (error === null ? resolve(answer as Buffer) : reject(error)),
      );
    });
  }

  /** Opens ModelStreamInfer with encoded messages. */
  stream(metadata: Readonly<Record<string, string>> = {}): grpc.ClientDuplexStream<Uint8Array, Buffer> {
    return this.client.makeBidiStreamRequest(
      `${SERVICE_PATH}ModelStreamInfer`,
      (bytes: Uint8Array) => Buffer.from(bytes),
      (bytes: Buffer) => bytes,
      metadataOf(metadata),
    );
  }

  close(): void {
    this.client.close();
  }
}

function metadataOf(entries: Readonly<Record<string, string>>): grpc.Metadata {
  const metadata = new grpc.Metadata();
  for (const [name, value] of Object.entries(entries)) metadata.set(name, value);
  return metadata;
}
