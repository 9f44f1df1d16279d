import { closeSync, ftruncateSync, openSync, rmSync, utimesSync, writeSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { inferMessage } from '../attack/infer-message.js';
import type { ServerUnderAttack } from '../attack/server-under-attack.js';
import { Random } from '../fuzz/random.js';
import { TestGrpcClient } from '../support/wire/grpc-client.js';
import { type HttpResponse, httpRequest } from '../support/wire/http-request.js';

/** No call may take longer: it is answered, refused or cut. */
const HANG_MS = 40_000;

/** What the clients of a server with faults saw. */
export interface Observed {
  right: number;
  refused: number;
  readonly wrong: string[];
}

/** Clients and administrators that go on while calls of the server fail. */
export class Workload {
  readonly observed: Observed = { right: 0, refused: 0, wrong: [] };
  #going = true;
  readonly #random: Random;
  readonly #lanes: Promise<void>[];
  readonly #region: string;

  constructor(
    private readonly server: ServerUnderAttack,
    private readonly repository: string,
    private readonly models: readonly string[],
    seed: number,
  ) {
    this.#random = new Random(seed);
    this.#region = `triton-faults-${process.pid}`;
    this.#lanes = [
      ...models.flatMap((model) => [1, 2].map(() => this.#lane(() => this.infer(model)))),
      this.#lane(() => this.#inferGrpc('plain')),
      this.#lane(() => this.#load(), 150),
      this.#lane(() => this.#touch(), 300),
      this.#lane(() => this.#sharedMemory(), 100),
      this.#lane(() => this.#settings(), 200),
      this.#lane(() => this.#call('GET', '/v2/models/stats').then(() => {}), 200),
      this.#lane(() => this.#call('POST', '/v2/repository/index', '{}').then(() => {}), 200),
    ];
  }

  async stop(): Promise<void> {
    this.#going = false;
    await Promise.all(this.#lanes);
    rmSync(path.join('/dev/shm', this.#region), { force: true });
  }

  /** One inference; a response of status 200 has to be right. */
  async infer(model: string): Promise<boolean> {
    const value = this.#random.below(1_000_000);
    const inputs = [
      { name: 'INPUT0', datatype: 'INT32', shape: [1, 4], data: [value, value + 1, value + 2, value + 3] },
    ];
    const response = await this.#call('POST', `/v2/models/${model}/infer`, JSON.stringify({ inputs }));
    if (response === undefined || response.status !== 200) {
      this.observed.refused++;
      return false;
    }
    const got = (response.json as { outputs: { data: number[] }[] }).outputs[0]?.data.join();
    if (got === inputs[0]?.data.join()) this.observed.right++;
    else this.observed.wrong.push(`${model} answered ${response.text.slice(0, 200)} to ${value}`);
    return true;
  }

  async #lane(round: () => Promise<unknown>, ms = 5): Promise<void> {
    while (this.#going && this.server.ended === undefined) {
      await round();
      await delay(ms);
    }
  }

  /** Undefined when the connection was cut, which an injected fault may do. */
  async #call(method: string, target: string, body?: string): Promise<HttpResponse | undefined> {
    const hung = delay(HANG_MS, 'hung' as const, { ref: false });
    const response = await Promise.race([
      httpRequest(this.server.httpPort, method, target, body).catch(() => undefined),
      hung,
    ]);
    if (response !== 'hung') return response;
    this.observed.wrong.push(`${method} ${target} was not answered within ${HANG_MS / 1000} s`);
    return undefined;
  }

  async #inferGrpc(model: string): Promise<void> {
    const client = new TestGrpcClient(this.server.grpcPort);
    try {
      await client.callBytes('ModelInfer', inferMessage(model, 4, {}, 7));
      this.observed.right++;
    } catch {
      this.observed.refused++;
    } finally {
      client.close();
    }
  }

  async #load(): Promise<void> {
    const model = this.#random.pick(this.models);
    await this.#call('POST', `/v2/repository/models/${model}/${this.#random.below(3) === 0 ? 'unload' : 'load'}`, '{}');
  }

  async #touch(): Promise<void> {
    const now = new Date();
    utimesSync(path.join(this.repository, this.#random.pick(this.models), 'config.pbtxt'), now, now);
  }

  async #sharedMemory(): Promise<void> {
    const file = openSync(path.join('/dev/shm', this.#region), 'w+', 0o600);
    ftruncateSync(file, 64);
    writeSync(file, new Uint8Array(Int32Array.of(1, 2, 3, 4).buffer));
    closeSync(file);
    const body = JSON.stringify({ key: `/${this.#region}`, offset: 0, byte_size: 64 });
    await this.#call('POST', '/v2/systemsharedmemory/region/r/register', body);
    const shared = { shared_memory_region: 'r', shared_memory_byte_size: 16 };
    const inputs = [{ name: 'INPUT0', datatype: 'INT32', shape: [1, 4], parameters: shared }];
    await this.#call('POST', '/v2/models/plain/infer', JSON.stringify({ inputs }));
    await this.#call('POST', '/v2/systemsharedmemory/region/r/unregister', '{}');
  }

  async #settings(): Promise<void> {
    await this.#call('POST', '/v2/logging', `{"log_verbose_level":${this.#random.below(2)}}`);
    await this.#call('POST', '/v2/trace/setting', '{"trace_level":["TIMESTAMPS"],"trace_rate":"5"}');
  }
}
