import { TritonError } from '../../../base/error.js';
import type { ModelMetrics } from '../../../contract/engine.js';
import type { ModelState } from '../../../protocol/management.js';
import { VersionCounters } from '../../statistics/version-counters.js';
import type { LoadedModel } from '../version/loaded-model.js';

/** Reason of a version that was unloaded in an orderly manner. */
export const UNLOADED = 'unloaded';

/** What the server knows of one version. */
export class VersionRecord {
  state: ModelState = 'UNKNOWN';
  /** Empty, or why the version is in this state. */
  reason = '';
  /** The object that serves while the state is READY. */
  model: LoadedModel | undefined;
  readonly counters = new VersionCounters();
  /** The version has served at some time. */
  wasLoaded = false;

  constructor(readonly version: string) {}

  set(state: ModelState, reason = ''): void {
    this.state = state;
    this.reason = reason;
  }
}

/** The versions of one model that were ever loaded or tried; kept after the model was unloaded. */
export class ModelRecord {
  readonly #versions = new Map<string, VersionRecord>();
  /** READY versions, ascending; rebuilt when a state changes, read on every request. */
  #ready: readonly LoadedModel[] = [];

  /** `id`: what logs and tables call it; `namespace`: '' without --model-namespacing (model-place.ts). */
  constructor(
    readonly id: string,
    readonly name: string,
    readonly namespace: string,
  ) {}

  /** All versions, ascending by number. */
  get versions(): readonly VersionRecord[] {
    return [...this.#versions.values()].sort((a, b) => (BigInt(a.version) < BigInt(b.version) ? -1 : 1));
  }

  /** READY versions, ascending. */
  get ready(): readonly LoadedModel[] {
    return this.#ready;
  }

  find(version: string): VersionRecord | undefined {
    return this.#versions.get(version);
  }

  /** The record of a version, made if there is none. */
  version(version: string): VersionRecord {
    let record = this.#versions.get(version);
    if (record === undefined) {
      record = new VersionRecord(version);
      this.#versions.set(version, record);
    }
    return record;
  }

  /** True when the version has served at some time. */
  wasLoaded(version: string): boolean {
    return this.#versions.get(version)?.wasLoaded ?? false;
  }

  /** To be called after states changed. */
  refresh(): void {
    for (const record of this.#versions.values()) if (record.state === 'READY') record.wasLoaded = true;
    this.#ready = this.versions.flatMap(({ state, model }) =>
      state === 'READY' && model !== undefined ? [model] : [],
    );
  }
}

/** The READY version that a request means (`version` '' = the latest); undefined when there is none. */
export function findReady(record: ModelRecord | undefined, version: string): LoadedModel | undefined {
  if (record === undefined) return undefined;
  return version === '' ? record.ready.at(-1) : record.ready.find((model) => model.version === version);
}

/** Like `findReady`, but throws the error that a request for the version gets. `record`: that of the model `name`. */
export function requireReady(record: ModelRecord | undefined, name: string, version: string): LoadedModel {
  const found = findReady(record, version);
  if (found !== undefined) return found;
  const unknown = `Request for unknown model: '${name}'`;
  if (record === undefined) throw new TritonError('NOT_FOUND', `${unknown} is not found`);
  if (version === '') throw new TritonError('NOT_FOUND', `${unknown} has no available versions`);
  if (record.find(version) === undefined) {
    throw new TritonError('NOT_FOUND', `${unknown} version ${version} is not found`);
  }
  throw new TritonError('UNAVAILABLE', `${unknown} version ${version} is not at ready state`);
}

/** The metrics of all versions of a model. */
export function modelMetrics(record: ModelRecord): ModelMetrics[] {
  return record.versions.flatMap(({ version, model, counters }) => {
    const { failures } = counters;
    const { name, namespace } = record;
    const entry = { name, ...(namespace === '' ? {} : { namespace }), version, failures };
    if (model !== undefined) {
      const { series } = model.statistics;
      return {
        ...entry,
        loaded: { config: model.config, ...series },
      };
    }
    // A version that was never loaded has no series.
    const total = failures.REJECTED + failures.CANCELED + failures.BACKEND + failures.OTHER;
    return record.wasLoaded(version) || total > 0 ? entry : [];
  });
}
