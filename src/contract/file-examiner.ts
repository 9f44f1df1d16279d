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
  readonly run: RunLimits;
}

/** How far the model's own code may be run, and for how long. */
export interface RunLimits {
  /** `nothing`; `completion`: it is imported and may complete its configuration; `start`: an instance is made and ended too. */
  readonly upTo: 'nothing' | 'completion' | 'start';
  /** Seconds for the completion; 0 = any time. */
  readonly completionSeconds: number;
  /** Seconds for the start of an instance, with the import of its code; 0 = any time. */
  readonly startSeconds: number;
}

/** What running a model's code showed. */
export interface StartResult {
  readonly faults: readonly Fault[];
  readonly doubts: readonly Fault[];
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
  /** True when the model has code of its own, which was not run as far as a server would run it. */
  readonly notRun?: boolean;
  /** Makes and ends instances with the model's own code, as a server would when nothing else is wrong. */
  start?(config: ModelConfig): Promise<StartResult>;
}

/** Judges the files of one version for one backend; throws the TritonError that fails the load. */
export type FileExaminer = (version: ExaminedVersion) => Promise<ExaminationResult>;
