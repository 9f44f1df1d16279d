/**
 * What the front ends (HTTP, gRPC, metrics, in-process) know of the engine. No sockets, no wire formats.
 */

import type { IndexEntry, LoadParameters, ModelStatistics } from '../protocol/management.js';
import type { ModelConfig } from '../protocol/proto/model-config.js';
import type { TensorMetadata } from '../protocol/tensor.js';
import type { CustomFamily } from './metrics.js';
import type { InferenceRequest, PendingRequest, ResponseHandler } from './request.js';
import type { SeriesCounters } from './statistics.js';

/**
 * A READY version of a model. Everything in it was computed when the model was loaded; `config` alone is another object after
 * a change of the instances.
 */
export interface ReadyModel {
  readonly name: string;
  /** Version number as text. */
  readonly version: string;
  /** The completed configuration. */
  readonly config: ModelConfig;
  /** `platform` of the metadata: the configuration's platform, else its backend. */
  readonly platform: string;
  readonly maxBatchSize: number;
  readonly decoupled: boolean;
  /** As metadata shows them, in the configuration's order, batch dimension -1 in front if the model batches. */
  readonly inputs: readonly TensorMetadata[];
  readonly outputs: readonly TensorMetadata[];
  /** Labels of an output by class index; undefined when the output has no label file. */
  labels(output: string): readonly string[] | undefined;
  /**
   * Validates and queues a request. Throws a TritonError for what is refused at once (a request that does not fit the
   * model's configuration, a full queue); everything later comes through the handler.
   */
  submit(request: InferenceRequest, onResponse: ResponseHandler): PendingRequest;
}

/** Counters of one version for the metrics endpoint. Counts and whole microseconds. */
export interface ModelMetrics {
  readonly name: string;
  /** Only with --model-namespacing. */
  readonly namespace?: string;
  readonly version: string;
  /** By `reason`; always all four. They outlive the loaded version and count on after a reload. */
  readonly failures: Readonly<Record<'REJECTED' | 'CANCELED' | 'BACKEND' | 'OTHER', number>>;
  /** Absent when the version is not loaded any more. */
  readonly loaded?: { readonly config: ModelConfig } & Readonly<SeriesCounters>;
}

/** The engine, as front ends use it. */
export interface InferenceEngine {
  /** False only before start-up finished initialising. Throws UNAVAILABLE `Server exiting` while stopping. */
  isLive(): boolean;
  /**
   * True when the server has started and, with --strict-readiness, every version that was asked for is ready; a promise
   * where models have a say in it. Throws UNAVAILABLE `Server exiting` while stopping.
   */
  isReady(): boolean | Promise<boolean>;
  /** A promise where the model itself is asked. Throws for a version that is not a number. */
  isModelReady(name: string, version: string): boolean | Promise<boolean>;
  /**
   * The READY version that a request means: `version` '' = the latest. Throws INVALID_ARG for a version that
   * is not a number, NOT_FOUND for a model that is not there, UNAVAILABLE for one that is not ready.
   */
  model(name: string, version: string): ReadyModel;
  /** READY versions of a model, ascending, as text. */
  readyVersions(name: string): readonly string[];
  /** Every READY version of every model, by name, then version. For metrics. */
  readyModels(): readonly ReadyModel[];
  /** Counters for the metrics endpoint: every loaded version, and failures of versions that are gone. By name, version. */
  metrics(): readonly ModelMetrics[];
  /** Metric families of the response cache, then those that models made themselves, in the order of their making. */
  customMetrics(): readonly CustomFamily[];
  /** `name` '' = all models. Throws INVALID_ARG for a model or a version that is not ready. */
  statistics(name: string, version: string): readonly ModelStatistics[];
  /** Lists the repositories again each time. Rejects when one cannot be listed. */
  index(onlyReady: boolean): Promise<readonly IndexEntry[]>;
  load(name: string, parameters: LoadParameters): Promise<void>;
  unload(name: string, unloadDependents: boolean): Promise<void>;
}
