import type { IndexEntry, InferenceEngine, ModelState, ReadyModel } from '../engine/engine-api.js';
import { invalidArg, type TritonError } from '../protocol/error.js';
import type { MetricSources } from './metrics/server-metrics.js';

/** What the server needs of an engine besides answering requests: tables, metrics, and an end in good order. */
export interface ServedEngine extends InferenceEngine, MetricSources {
  /** What went wrong while the models of the start were loaded; the text that follows `creating server: `. */
  readonly startError: TritonError | undefined;
  /** Backends that were loaded; `config` is JSON text. */
  backendTable(): readonly { readonly name: string; readonly path: string; readonly config: string }[];
  /** Every model that the lifecycle knows, a row per version; no version: nothing to load was found. */
  modelTable(): readonly {
    readonly name: string;
    readonly version?: string;
    readonly state: ModelState;
    readonly reason: string;
  }[];
  /** Versions with requests that have no answer yet. */
  inFlight(): readonly { readonly name: string; readonly version: string; readonly count: number }[];
  /** Versions that are loaded or still being unloaded. */
  liveModelCount(): number;
  /** From now on: not live, no new requests, no control calls; what was accepted goes on. */
  beginStop(): void;
  /** Unloads everything; resolves when nothing is left. */
  unloadAll(): Promise<void>;
  /** Ends what is left, waiting at most so long for running executions. */
  stop(graceMs: number): Promise<void>;
}

/** Stands for an engine that could not be made (exit-on-error=false): not live, and everything is refused. */
export class UnavailableEngine implements ServedEngine {
  constructor(readonly startError: TritonError) {}

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

  index(): readonly IndexEntry[] {
    throw notReady();
  }

  load(): Promise<void> {
    return Promise.reject(notReady());
  }

  unload(): Promise<void> {
    return Promise.reject(notReady());
  }

  backendTable(): readonly never[] {
    return [];
  }

  modelTable(): readonly never[] {
    return [];
  }

  metricSources(): readonly never[] {
    return [];
  }

  failureSources(): readonly never[] {
    return [];
  }

  inFlight(): readonly never[] {
    return [];
  }

  liveModelCount(): number {
    return 0;
  }

  beginStop(): void {}

  unloadAll(): Promise<void> {
    return Promise.resolve();
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }
}

/** 400, not the 503 of a server that is stopping (spec: model repositories, section 8.8). */
function notReady(): TritonError {
  return invalidArg('Server not ready');
}
