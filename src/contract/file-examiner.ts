import type { ModelConfig } from '../protocol/proto/model-config.js';
import type { Fault } from './fault.js';

/** One version of a model, as an examiner gets it. */
export interface ExaminedVersion {
  /** `<repository>/<model>` */
  readonly modelDirectory: string;
  readonly version: string;
  /** Instance groups are filled in. */
  readonly config: ModelConfig;
  /** False with --disable-auto-complete-config. */
  readonly autoComplete: boolean;
  /** Configuration of the backend (--backend-config). */
  readonly backendConfig: ReadonlyMap<string, string>;
  /** False when the model's own code must not be run. */
  readonly runModelCode: boolean;
}

/** What a backend's files show without an instance being made. */
export interface ExaminationResult {
  /** Completed from the files, as the backend would. */
  readonly config: ModelConfig;
  /** True when there is a configuration even if the user wrote none. */
  readonly provided: boolean;
  /**
   * What can be said of inputs and outputs: `complete` = they are what would be served; `given` = those that are listed
   * will stay as they are, but completion failed; `unknown` = only running the model's own code shows it.
   */
  readonly tensors: 'complete' | 'given' | 'unknown';
  /** What stops the version before its configuration is checked again. */
  readonly faults: readonly Fault[];
  /** What could not be made sure, in words. */
  readonly doubts: readonly Fault[];
  /** What an instance would refuse, given the final configuration. */
  instanceFaults(config: ModelConfig): Promise<readonly Fault[]>;
}

/** Judges the files of one version for one backend; throws the TritonError that fails the load. */
export type FileExaminer = (version: ExaminedVersion) => Promise<ExaminationResult>;
