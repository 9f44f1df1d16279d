/** Starts engines on repositories that a test writes, with a backend whose executions the test holds in its hands. */
import { CATALOGUE } from '../../../src/backends/catalogue.js';
import { nowNs } from '../../../src/base/clock.js';
import type {
  Backend,
  BackendInstance,
  ExecutionRequest,
  ExecutionTimes,
  InstanceSpec,
} from '../../../src/contract/backend.js';
import type { BackendTraits } from '../../../src/contract/backend-traits.js';
import type { ReadyModel } from '../../../src/contract/engine.js';
import type { InferenceRequest, InferenceResponse, RequestInput } from '../../../src/contract/request.js';
import { Engine } from '../../../src/engine/engine.js';
import type { EngineOptions } from '../../../src/engine/options/engine-options.js';
import type { Files } from '../machine/temporary-directory.js';
import { makeRepository } from '../repositories/make-repository.js';

/** One batch that the gated backend was given. */
export interface Execution {
  readonly instance: string;
  readonly batch: readonly ExecutionRequest[];
  /** Ids of its requests. */
  readonly ids: readonly string[];
  /** Answers every request with its own inputs renamed to outputs, then ends the execution. */
  finish(): void;
  /** Ends the execution with an error. */
  fail(reason: unknown): void;
}

/** A backend that records its batches and ends them when the test says so. Outputs: OUT = the first input. */
export class GatedBackend implements TestBackend, Backend {
  readonly traits = testTraits('gated', this);
  readonly executions: Execution[] = [];
  /** Names of the instances made, and of those that ended, in order. */
  readonly made: string[] = [];
  readonly closed: string[] = [];
  /** Rejects the making of further instances. */
  broken: Error | undefined;
  /** Batches that an instance takes at once. */
  concurrency = 1;
  /** True: every batch ends at once. */
  open = false;
  /** How a request is answered when its batch is finished. */
  answer = (request: ExecutionRequest): void => {
    request.respond({ outputs: [{ ...request.inputs[0]!, name: 'OUT' }] }, true);
  };
  #waiting: { count: number; resolve(): void }[] = [];

  async load() {
    return {
      createInstance: async (spec: InstanceSpec) => this.#instance(spec.name),
      unload: async () => {},
    };
  }

  /** Resolves when `count` batches were begun in all. */
  async begun(count: number): Promise<void> {
    if (this.executions.length >= count) return;
    await new Promise<void>((resolve) => this.#waiting.push({ count, resolve }));
  }

  #instance(name: string): BackendInstance {
    if (this.broken !== undefined) throw this.broken;
    this.made.push(name);
    return {
      name,
      concurrency: this.concurrency,
      close: async () => {
        this.closed.push(name);
      },
      execute: (batch) => {
        const { promise, finish, fail } = this.#gate(batch);
        this.executions.push({ instance: name, batch, ids: batch.map(({ id }) => id), finish, fail });
        for (const waiting of this.#waiting) if (this.executions.length >= waiting.count) waiting.resolve();
        if (this.open) finish();
        return promise;
      },
    };
  }

  #gate(batch: readonly ExecutionRequest[]) {
    const computeStart = nowNs();
    let finish = (): void => {};
    let fail = (_reason: unknown): void => {};
    const promise = new Promise<ExecutionTimes>((resolve, reject) => {
      finish = () => {
        for (const request of batch) this.answer(request);
        const computeEnd = nowNs();
        resolve({ computeStart, inputEnd: computeStart, outputStart: computeEnd, computeEnd });
      };
      fail = reject;
    });
    return { promise, finish, fail };
  }
}

/** A started engine, what it logged, and how to end it. */
export interface TestEngine {
  readonly engine: Engine;
  readonly repository: string;
  /** Lines such as `E failed to load ...`. */
  readonly log: string[];
  write(files: Files): void;
  close(): Promise<void>;
}

/** A backend that a test brings along. */
export interface TestBackend {
  readonly traits: BackendTraits;
}

/** The traits of one whose models are configurations alone. */
export function testTraits(name: string, backend: Backend, more: Partial<BackendTraits> = {}): BackendTraits {
  return { name, formats: [], codeFile: '', load: async () => backend, ...more };
}

/** Options of the engine, and backends beside those of the program. */
export type HarnessOptions = Partial<EngineOptions> & { readonly backends?: readonly TestBackend[] };

/** Starts an engine on a repository with these files (a path that ends in `/` is a directory). */
export async function startEngine(
  files: Files,
  { backends = [], ...options }: HarnessOptions = {},
): Promise<TestEngine> {
  const repository = makeRepository(files);
  const log: string[] = [];
  const engine = await Engine.start({
    repositories: [repository.path],
    backendConfig: [],
    autoComplete: true,
    modelControlMode: 'none',
    loadModels: [],
    strictReadiness: true,
    catalogue: [...CATALOGUE, ...backends.map(({ traits }) => traits)],
    log: {
      info: (message) => log.push(`I ${message}`),
      warning: (message) => log.push(`W ${message}`),
      error: (message) => log.push(`E ${message}`),
      verbose() {},
    },
    ...options,
  });
  return {
    engine,
    repository: repository.path,
    log,
    write: repository.write,
    async close() {
      await engine.stop(10_000);
      repository.remove();
    },
  };
}

/** A request with everything at its default. */
export function makeRequest(inputs: readonly RequestInput[], more: Partial<InferenceRequest> = {}): InferenceRequest {
  return {
    id: '',
    inputs,
    requestedOutputs: [],
    parameters: [],
    correlationId: 0n,
    sequenceStart: false,
    sequenceEnd: false,
    priority: 0n,
    timeoutMicroseconds: 0n,
    ...more,
  };
}

/** An INT32 tensor of a request. */
export function int32(name: string, shape: readonly number[], values: readonly number[]): RequestInput {
  return { name, datatype: 'INT32', shape, data: new Uint8Array(Int32Array.from(values).buffer) };
}

/** A BYTES tensor of a request. */
export function strings(
  name: string,
  shape: readonly number[],
  values: readonly (string | Uint8Array)[],
): RequestInput {
  const parts = values.map((text) => {
    const bytes = Buffer.from(text as string);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(bytes.length);
    return Buffer.concat([length, bytes]);
  });
  return { name, datatype: 'BYTES', shape, data: Buffer.concat(parts) };
}

/** Values of an INT32 output of a response. */
export function int32Values(response: InferenceResponse, name: string): number[] {
  const { data } = response.outputs.find((output) => output.name === name)!;
  return [...new Int32Array(new Uint8Array(data).buffer)];
}

/** Submits a request and resolves with its final response. Refusals reject. */
export function infer(model: ReadyModel, request: InferenceRequest): Promise<InferenceResponse> {
  return new Promise((resolve, reject) => {
    try {
      model.submit(request, (response, final) => {
        if (final && response !== undefined) resolve(response);
      });
    } catch (reason) {
      reject(reason);
    }
  });
}

/** Resolves after the event loop has turned a few times: everything that can happen without a timer has happened. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}
