import type { ModelState } from '../../protocol/management.js';
import { VersionCounters } from '../statistics/version-counters.js';
import type { LoadedModel } from './version/loaded-model.js';

/** Reason of a version that was unloaded in an orderly manner. */
export const UNLOADED = 'unloaded';

/** What the lifecycle knows of one version. */
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

/** What the lifecycle knows of one model; it is kept after the model was unloaded. */
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
