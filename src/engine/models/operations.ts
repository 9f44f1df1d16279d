import type { LoadCancelled } from './version/load-cancelled.js';

/** Operations on models by name: those on the same names run one after the other, and load calls can be given up. */
export class Operations {
  /** By name: the last operation on models that are called so or that ensembles connect with them. */
  readonly #last = new Map<string, Promise<unknown>>();
  /** By name: what gives up the load calls for a model, also those that wait for their turn. */
  readonly #loads = new Map<string, Set<AbortController>>();

  /** Runs an operation when all earlier ones on any of these names have ended. */
  exclusive<T>(names: Iterable<string>, operation: () => Promise<T>): Promise<T> {
    const held = [...names];
    const before = held.flatMap((name) => this.#last.get(name) ?? []);
    const result = before.length === 0 ? operation() : Promise.allSettled(before).then(operation);
    for (const name of held) this.#last.set(name, result);
    const forget = (): void => {
      for (const name of held) if (this.#last.get(name) === result) this.#last.delete(name);
    };
    result.then(forget, forget);
    return result;
  }

  /** Runs a load call that `cancelLoads` can give up while it waits or works; its signal is aborted then. */
  async load<T>(names: readonly string[], call: (cancelled: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    for (const name of names) this.#loads.set(name, (this.#loads.get(name) ?? new Set()).add(controller));
    try {
      return await call(controller.signal);
    } finally {
      for (const name of names) {
        const loads = this.#loads.get(name);
        loads?.delete(controller);
        if (loads?.size === 0) this.#loads.delete(name);
      }
    }
  }

  /** Gives up the load calls for a name, or all of them. */
  cancelLoads(reason: LoadCancelled, name?: string): void {
    const calls = name === undefined ? [...this.#loads.values()] : [this.#loads.get(name) ?? []];
    for (const controllers of calls) for (const controller of controllers) controller.abort(reason);
  }

  /** Resolves when the operations that have begun, or wait for their turn, have ended. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#last.values());
  }
}
