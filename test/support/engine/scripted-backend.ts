import { nowNs } from '../../../src/base/clock.js';
import type {
  Backend,
  BackendInstance,
  ExecutionRequest,
  InstanceSpec,
  ModelLocation,
} from '../../../src/contract/backend.js';
import { type TestBackend, testTraits } from './engine-harness.js';

/** What a model does with a request: it answers it, at once or later. */
export type Script = (request: ExecutionRequest) => void;

/** A backend whose models do what a test wrote for them, and that remembers what they were asked. */
export class ScriptedBackend implements TestBackend, Backend {
  readonly traits = testTraits('scripted', this, { optionalInputs: true });
  /** Requests in the order of their execution. */
  readonly calls: { readonly model: string; readonly request: ExecutionRequest }[] = [];
  readonly #scripts: Readonly<Record<string, Script>>;

  /** `scripts` by name of the model; others answer OUT = IN. */
  constructor(scripts: Readonly<Record<string, Script>> = {}) {
    this.#scripts = scripts;
  }

  /** Names of the models that were executed, in order. */
  get order(): string[] {
    return this.calls.map(({ model }) => model);
  }

  async load({ name: model }: ModelLocation) {
    const script = this.#scripts[model] ?? echo;
    const createInstance = async ({ name }: InstanceSpec): Promise<BackendInstance> => ({
      name,
      concurrency: Number.POSITIVE_INFINITY,
      close: async () => {},
      execute: async (batch) => {
        const computeStart = nowNs();
        for (const request of batch) {
          this.calls.push({ model, request });
          script(request);
        }
        const computeEnd = nowNs();
        return { computeStart, inputEnd: computeStart, outputStart: computeEnd, computeEnd, answersLater: true };
      },
    });
    return { createInstance, unload: async () => {} };
  }
}

/** Answers with the first input as OUT. */
export function echo(request: ExecutionRequest): void {
  request.respond({ outputs: [{ ...request.inputs[0]!, name: 'OUT' }] }, true);
}
