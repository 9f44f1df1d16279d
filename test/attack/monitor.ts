import { readFileSync } from 'node:fs';
import { fromBinary } from '../../src/protocol/proto/codec.js';
import * as service from '../../src/protocol/proto/service/service.js';
import { TestGrpcClient } from '../support/wire/grpc-client.js';
import { httpRequest } from '../support/wire/http-request.js';
import { inferMessage } from './infer-message.js';
import type { ServerUnderAttack } from './server-under-attack.js';

/** Pause between two health checks, and between two inferences of the innocent client, in ms. */
const PERIOD_MS = 100;
/** A check that takes longer than that is given up: the server is blocked. */
const GIVE_UP_MS = 60_000;

/** What an innocent client and a health checker saw. */
export interface Seen {
  /** Health checks that were answered, and the longest time that one took, in ms. */
  checks: number;
  slowestMs: number;
  /** Inferences with the right response; refused by a limit (UNAVAILABLE); wrong, or failed otherwise. */
  right: number;
  refused: number;
  readonly wrong: string[];
  /** Most of one check's time, in ms, that went to other work of the machine; taken off `slowestMs`. */
  machineMs: number;
}

/** Asks for the health over both protocols and infers, while something else attacks. */
export class Monitor {
  seen: Seen = Monitor.#nothing();
  #going = true;
  readonly #lanes: Promise<void>[];
  readonly #grpc: TestGrpcClient;
  #value = 1;

  constructor(private readonly server: ServerUnderAttack) {
    this.#grpc = new TestGrpcClient(server.grpcPort);
    this.#lanes = [
      this.#lane(() => this.#check(() => this.#httpHealth())),
      this.#lane(() => this.#check(() => this.#grpcHealth())),
      this.#lane(() => this.#inferHttp()),
      this.#lane(() => this.#inferGrpc()),
    ];
  }

  static #nothing(): Seen {
    return { checks: 0, slowestMs: 0, right: 0, refused: 0, wrong: [], machineMs: 0 };
  }

  /** Returns what was seen since the last call. */
  take(): Seen {
    const seen = this.seen;
    this.seen = Monitor.#nothing();
    return seen;
  }

  async close(): Promise<void> {
    this.#going = false;
    // A server that is blocked answers nothing: whoever waits for it is left waiting.
    await Promise.race([Promise.all(this.#lanes), new Promise((resolve) => setTimeout(resolve, 2000))]);
    this.#grpc.close();
  }

  async #lane(round: () => Promise<void>): Promise<void> {
    while (this.#going && this.server.ended === undefined) {
      const begin = performance.now();
      await round();
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, PERIOD_MS - (performance.now() - begin))));
    }
  }

  async #check(ask: () => Promise<boolean>): Promise<void> {
    const begin = performance.now();
    const waited = this.#waitedMs();
    // What it takes counts where it began, and at once when it is long: a blocked server shall not look well.
    const { seen } = this;
    const look = (): void => {
      const machine = this.#waitedMs() - waited;
      seen.slowestMs = Math.max(seen.slowestMs, performance.now() - begin - machine);
      seen.machineMs = Math.max(seen.machineMs, machine);
    };
    const timer = setInterval(look, 100);
    const giveUp = new Promise<false>((resolve) => setTimeout(resolve, GIVE_UP_MS, false).unref());
    const well = await Promise.race([ask(), giveUp]);
    clearInterval(timer);
    if (!well && this.#going && this.server.ended === undefined) seen.wrong.push('a health check was not answered');
    seen.checks++;
    look();
  }

  /**
   * How long the main threads of the server and of this process have waited for a core so far, in ms: what the machine's other work
   * costs is not a fault of the server.
   */
  #waitedMs(): number {
    return [this.server.pid, process.pid].reduce((sum, pid) => sum + runQueueMs(pid), 0);
  }

  #httpHealth(): Promise<boolean> {
    return httpRequest(this.server.httpPort, 'GET', '/v2/health/live').then(
      ({ status }) => status === 200,
      () => false,
    );
  }

  #grpcHealth(): Promise<boolean> {
    return this.#grpc.callBytes('ServerLive', new Uint8Array(0)).then(
      (bytes) => bytes.length === 2,
      () => false,
    );
  }

  async #inferHttp(): Promise<void> {
    const data = this.#next();
    const body = JSON.stringify({ inputs: [{ name: 'INPUT0', datatype: 'INT32', shape: [1, 4], data }] });
    const begun = this.seen;
    try {
      const model = data[0] % 2 === 0 ? 'identity' : 'batched';
      const { status, json, text } = await httpRequest(this.server.httpPort, 'POST', `/v2/models/${model}/infer`, body);
      const got = (json as { outputs?: { data: number[] }[] } | undefined)?.outputs?.[0]?.data.join();
      if (status === 503) begun.refused++;
      else if (status === 200 && got === data.join()) begun.right++;
      else begun.wrong.push(`HTTP inference: ${status} ${text.slice(0, 200)}, expected ${data.join()}`);
    } catch (reason) {
      this.#failed(begun, 'HTTP', reason);
    }
  }

  async #inferGrpc(): Promise<void> {
    const [value] = this.#next();
    const begun = this.seen;
    try {
      const bytes = await this.#grpc.callBytes('ModelInfer', inferMessage('identity', 4, {}, value));
      const raw = fromBinary(service.ModelInferResponse, bytes).raw_output_contents[0] ?? new Uint8Array(0);
      const got = [...new Int32Array(Uint8Array.from(raw).buffer)].join();
      if (got === [value, value, value, value].join()) begun.right++;
      else begun.wrong.push(`gRPC inference: ${got}, expected ${value}`);
    } catch (reason) {
      // 14 is UNAVAILABLE: refused by a limit, or the connection was closed.
      if ((reason as { code?: number }).code === 14 && this.server.ended === undefined) begun.refused++;
      else this.#failed(begun, 'gRPC', reason);
    }
  }

  #failed(seen: Seen, protocol: string, reason: unknown): void {
    if (!this.#going || this.server.ended !== undefined) return;
    seen.wrong.push(`${protocol} inference failed: ${String((reason as Error).message ?? reason).slice(0, 200)}`);
  }

  #next(): [number, number, number, number] {
    const value = this.#value++;
    return [value, value + 1, value + 2, value + 3];
  }
}

/** Time that a process's main thread was ready to run and did not, in ms (the second number of schedstat). */
function runQueueMs(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'latin1').split(' ')[1]) / 1e6;
  } catch {
    return 0; // it has ended, or the kernel does not count
  }
}
