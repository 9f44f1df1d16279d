import grpc from '@grpc/grpc-js';
import { Agent, request } from 'undici';
import { encodeGrpcInferRequest } from '../../src/client/infer/grpc-codec.js';

/** What became of one request, as the client saw it. */
export interface Outcome {
  readonly ok: boolean;
  /** The client itself gave up. */
  readonly cancelled?: boolean;
  /** Text of the error, '' where there is none. */
  readonly text: string;
  /** Number of responses to a request that may have several. */
  readonly answers?: number;
}

/** What a request asks for beside its numbers. */
export interface Ask {
  readonly rows?: number;
  readonly first?: number;
  readonly parameters?: Readonly<Record<string, number | boolean>>;
  /** Gives up after that many ms (gRPC only). */
  readonly cancelAfterMs?: number;
}

const INFER_PATH = '/inference.GRPCInferenceService/ModelInfer';
const pass = (bytes: Buffer): Buffer => bytes;

/** Requests over both protocols, on connections that stay open. */
export class SoakClient {
  readonly #base: string;
  readonly #agent = new Agent({ connections: 32 });
  readonly #grpc: grpc.Client;

  constructor(httpPort: number, grpcPort: number) {
    this.#base = `http://127.0.0.1:${httpPort}`;
    this.#grpc = new grpc.Client(`127.0.0.1:${grpcPort}`, grpc.credentials.createInsecure());
  }

  /** Any HTTP call; `body` makes it a POST. */
  async http(path: string, body?: unknown): Promise<{ status: number; text: string }> {
    const method = body === undefined ? 'GET' : 'POST';
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await request(`${this.#base}${path}`, { dispatcher: this.#agent, method, ...sent });
    return { status: answer.statusCode, text: await answer.body.text() };
  }

  /** The text of the metrics endpoint. */
  async metrics(port: number): Promise<string> {
    const answer = await request(`http://127.0.0.1:${port}/metrics`, { dispatcher: this.#agent });
    return await answer.body.text();
  }

  /** An inference over HTTP with JSON tensors; a wrong echo is an error of the server. */
  async infer(model: string, { rows = 1, first = 1, parameters = {} }: Ask): Promise<Outcome> {
    const data = numbers(rows, first);
    const inputs = [{ name: 'IN', datatype: 'INT32', shape: [rows, 4], data }];
    const { status, text } = await this.http(`/v2/models/${model}/infer`, { inputs, parameters });
    if (status !== 200) return { ok: false, text: (JSON.parse(text) as { error: string }).error };
    const answer = JSON.parse(text) as { outputs: { data: number[] }[] };
    const got = answer.outputs[0]?.data.join();
    if (got !== data.join()) throw new Error(`${model} answered ${got} to ${data.join()}`);
    return { ok: true, text: '' };
  }

  /** A request with several responses, over `generate_stream`. */
  async stream(model: string, count: number): Promise<Outcome> {
    const { status, text } = await this.http(`/v2/models/${model}/generate_stream`, { IN: [count, 0, 0, 0] });
    return { ok: status === 200, text: status === 200 ? '' : text, answers: text.split('data: ').length - 1 };
  }

  /** An inference over gRPC. */
  inferGrpc(model: string, { rows = 1, first = 1, cancelAfterMs }: Ask): Promise<Outcome> {
    const data = new Uint8Array(Int32Array.from(numbers(rows, first)).buffer);
    const inputs = [{ name: 'IN', datatype: 'INT32', shape: [rows, 4], data }] as const;
    const body = Buffer.concat(encodeGrpcInferRequest({ modelName: model, inputs }));
    return new Promise((resolve) => {
      let answered = false;
      const call = this.#grpc.makeUnaryRequest(INFER_PATH, pass, pass, body, (error) => {
        if (answered) throw new Error(`${model} answered twice`);
        answered = true;
        if (error === null) resolve({ ok: true, text: '' });
        else resolve({ ok: false, cancelled: error.code === grpc.status.CANCELLED, text: error.details });
      });
      if (cancelAfterMs !== undefined) setTimeout(() => call.cancel(), cancelAfterMs);
    });
  }

  async close(): Promise<void> {
    this.#grpc.close();
    await this.#agent.close();
  }
}

function numbers(rows: number, first: number): number[] {
  return Array.from({ length: rows * 4 }, (_, i) => first + i);
}
