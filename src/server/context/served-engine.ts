import { TritonError } from '../../base/error.js';
import { endNow } from '../../base/process-end.js';
import type { InferenceEngine, ReadyModel } from '../../contract/engine.js';
import type { BackendRow, ModelRow } from '../../engine/start-tables.js';
import type { IndexEntry } from '../../protocol/management.js';

/** What the server needs of an engine besides serving requests: tables and an end in good order. */
export interface ServedEngine extends InferenceEngine {
  /** What went wrong while starting; the message that follows `creating server: `. */
  readonly startError: TritonError | undefined;
  /** False when there is nothing to serve from: only the options are shown. */
  readonly hasRepository: boolean;
  backendRows(): readonly BackendRow[];
  modelRows(): readonly ModelRow[];
  /** Begins to follow the repositories where the options say so. */
  beginPolling(): void;
  /** The first step of a stop: not ready any more, new sequences are refused, everything else goes on. */
  leave(): void;
  /** Requests that are accepted and wait for their response. */
  readonly inFlight: number;
  /** Sequences that have begun and not ended. */
  readonly liveSequences: number;
  /** Responds to what is in flight and unloads; rejects with INTERNAL when that takes longer. */
  stop(graceMs: number): Promise<void>;
  /** Ends the process at once without aborting it. */
  exitNow(code: number): never;
}

/** Stands for an engine that could not be made (exit-on-error=false): not live, and everything is refused. */
export class UnavailableEngine implements ServedEngine {
  readonly hasRepository = false;
  readonly #stop: (graceMs: number) => Promise<void>;

  constructor(
    readonly startError: TritonError,
    stop: (graceMs: number) => Promise<void>,
  ) {
    this.#stop = stop;
  }

  isLive(): boolean {
    return false;
  }

  isReady(): boolean {
    return false;
  }

  isModelReady(): boolean {
    throw notReady();
  }

  model(): ReadyModel {
    throw notReady();
  }

  readyVersions(): readonly string[] {
    throw notReady();
  }

  readyModels(): readonly ReadyModel[] {
    return [];
  }

  statistics(): never {
    throw notReady();
  }

  metrics(): readonly never[] {
    return [];
  }

  customMetrics(): readonly never[] {
    return [];
  }

  index(): Promise<readonly IndexEntry[]> {
    return Promise.reject(notReady());
  }

  load(): Promise<void> {
    return Promise.reject(notReady());
  }

  unload(): Promise<void> {
    return Promise.reject(notReady());
  }

  backendRows(): readonly never[] {
    return [];
  }

  modelRows(): readonly never[] {
    return [];
  }

  beginPolling(): void {}

  leave(): void {}

  get inFlight(): number {
    return 0;
  }

  get liveSequences(): number {
    return 0;
  }

  stop(graceMs: number): Promise<void> {
    return this.#stop(graceMs);
  }

  exitNow(code: number): never {
    endNow(code);
  }
}

/** The error for everything but health, metadata and settings. */
function notReady(): TritonError {
  return new TritonError('UNAVAILABLE', 'Server not ready');
}
