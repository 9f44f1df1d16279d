import { TritonError } from '../../../base/error.js';
import type { Log } from '../../../base/log.js';
import type { LoadedModel } from '../version/loaded-model.js';
import type { ThreadBudget } from '../version/thread-budget.js';
import { type ModelRecord, UNLOADED, type VersionRecord } from './model-record.js';

/** The loaded versions of all models: counts them from their load until they are gone, and takes them out of service. */
export class LiveVersions {
  readonly #threads: ThreadBudget;
  readonly #log: Log;
  readonly #ending = new Set<Promise<void>>();
  #count = 0;

  constructor(threads: ThreadBudget, log: Log) {
    this.#threads = threads;
    this.#log = log;
  }

  /** Loaded versions that are not completely gone. */
  get count(): number {
    return this.#count;
  }

  /** A version was loaded; one of the methods below ends it. */
  add(): void {
    this.#count++;
  }

  /** Takes all versions of a model out of service; they end when their last request is answered. */
  unload(record: ModelRecord): void {
    for (const version of record.versions) {
      if (version.state === 'READY' && version.model !== undefined) this.retire(record, version, version.model);
    }
    record.refresh();
  }

  /** Takes one version out of service. `record.refresh` has to follow. */
  retire(record: ModelRecord, version: VersionRecord, model: LoadedModel): void {
    version.model = undefined;
    version.set('UNLOADING');
    this.#endUnloading(record, version, model);
  }

  /** Ends a version that was loaded beside one of the same model that failed. */
  discard(record: ModelRecord, version: VersionRecord, model: LoadedModel): void {
    if (version.state === 'READY') {
      this.end(record, model);
      return;
    }
    version.set('UNLOADING');
    this.#endUnloading(record, version, model);
  }

  /** Ends a version in whose stead another one serves, or that nobody waits for any more. */
  end(record: ModelRecord, model: LoadedModel): void {
    this.#track(this.#end(record, model));
  }

  /** Resolves when every version that was taken out of service is gone. */
  async settled(): Promise<void> {
    while (this.#ending.size > 0) await Promise.all(this.#ending);
  }

  #endUnloading(record: ModelRecord, version: VersionRecord, model: LoadedModel): void {
    const ended = this.#end(record, model).then(() => {
      if (version.state === 'UNLOADING') version.set('UNAVAILABLE', UNLOADED);
    });
    this.#track(ended);
  }

  #track(ending: Promise<void>): void {
    this.#ending.add(ending);
    void ending.then(() => this.#ending.delete(ending));
  }

  /** Never rejects. */
  async #end(record: ModelRecord, model: LoadedModel): Promise<void> {
    const { id } = record;
    try {
      await model.close();
    } catch (reason) {
      const { message } = TritonError.from(reason);
      this.#log.error(`failed to unload '${id}' version ${model.version}: ${message}`);
    }
    this.#count--;
    record.version(model.version).counters.release(model.statistics.series);
    this.#threads.release(model.instanceCount);
    this.#log.info(`successfully unloaded '${id}' version ${model.version}`);
  }
}
