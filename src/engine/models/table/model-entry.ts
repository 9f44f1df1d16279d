import { ENSEMBLE_PLATFORM } from '../../../modelconfig/complete/normalize.js';
import type { Polled } from '../poll/model-poller.js';
import type { ModelRecord } from './model-record.js';
import type { RunningLoad } from './running-load.js';

/**
 * Everything that the server knows of one model. The entry is made when the model is polled for the first time, and stays
 * after the model was unloaded or has left the repositories.
 */
export class ModelEntry {
  /** As it was polled last without a fault; undefined while it is in no repository. */
  polled: Polled | undefined;
  /** Names of the models that it runs, each once, where it is an ensemble; none for other models. */
  members: readonly string[] = [];
  /** False for a model that serves just because an ensemble needs it. */
  asked = false;
  /** Why the ensemble does not fit its members. */
  problem: string | undefined;
  /** Why the last load failed, without the words that name the model. */
  loadError: string | undefined;
  /** What it was loaded from last, or refused for good; undefined: its files count as changed. */
  loadedFrom: Polled | undefined;
  /** Its versions; undefined while no load has come so far. */
  record: ModelRecord | undefined;
  /** Its loads that are on their way, or wait for a free slot. */
  readonly loads = new Set<RunningLoad>();
  /** Versions whose instances were counted in before their load. */
  readonly reserved = new Set<string>();

  /** `id`: what logs and tables call it; `namespace`: '' without --model-namespacing (model-place.ts). */
  constructor(
    readonly id: string,
    readonly name: string,
    readonly namespace: string,
  ) {}

  get isEnsemble(): boolean {
    return this.polled?.model.config.platform === ENSEMBLE_PLATFORM;
  }
}
