import type { ModelConfig } from '../../../protocol/proto/model-config.js';
import type { FindMember } from '../../ensemble/member.js';
import type { LoadCancelled } from '../version/load-cancelled.js';

/** What is to be loaded of a model, as polling found it. */
export interface LoadRequest {
  /** Directory of this machine that holds its files. */
  readonly directory: string;
  readonly config: ModelConfig;
  readonly configProvided: boolean;
  /** Whether the files of a version are as they were when it was loaded; absent = they are not. */
  readonly filesUnchanged?: (version: string) => boolean;
  /** How the steps of an ensemble find their models. */
  readonly find: FindMember;
}

/** A request, and what gives it up. */
export type CancellableRequest = LoadRequest & { readonly cancelled: AbortSignal };

/** A load on its way, and what gives it up: its call, an unload, files that have changed since, the end of the server. */
export class RunningLoad {
  readonly #controller = new AbortController();
  readonly #call: AbortSignal | undefined;
  readonly #follow = (): void => this.#controller.abort(this.#call?.reason);
  readonly #start = performance.now();
  #timer: NodeJS.Timeout | undefined;

  /** `call`: aborted when the call that wants the load is given up. */
  constructor(call: AbortSignal | undefined) {
    this.#call = call;
    if (call?.aborted) this.#follow();
    else call?.addEventListener('abort', this.#follow, { once: true });
  }

  /** Aborted when the load is given up. */
  get cancelled(): AbortSignal {
    return this.#controller.signal;
  }

  /** Gives it up: it fails soon. */
  cancel(reason: LoadCancelled): void {
    this.#controller.abort(reason);
  }

  /** Gives it up once it has gone on for so long, in ms. */
  cancelAfter(ms: number, reason: LoadCancelled): void {
    this.#timer ??= setTimeout(() => this.#controller.abort(reason), Math.max(0, this.#start + ms - performance.now()));
  }

  /** The load has ended. */
  end(): void {
    this.#call?.removeEventListener('abort', this.#follow);
    clearTimeout(this.#timer);
  }
}
