/**
 * What the program has to know about a backend before any of its code runs: how its models are recognised, what their
 * configurations get by default, and where its code is. Everything that depends on a backend reads these tables; nothing
 * else names one.
 */
import type { Backend } from './backend.js';
import type { FileExaminer } from './file-examiner.js';

/** A kind of model file that a backend reads. */
export interface ModelFormat {
  /** `platform` of such models' configurations; '' where the backend has no platforms. */
  readonly platform: string;
  /** Further values of `platform` by which the backend is recognised, although its configurations do not pass with them. */
  readonly platformAliases?: readonly string[];
  /** Name of the file (or directory) when the configuration does not say it. */
  readonly fileName: string;
  /** What an entry of that name must be to show the backend of a model without a configuration. Default: either. */
  readonly entry?: 'file' | 'directory';
  /** Ending by which people know such files, where one means this format only. */
  readonly extension?: string;
  /** What is inside, where tools read it without the backend. */
  readonly content?: 'onnx';
  /** True for compiled engines: configurations may have shape tensors, non-linear formats and optimization profiles. */
  readonly engine?: boolean;
}

/** A backend as configurations know it, whether it is part of this program or not. */
export interface KnownBackend {
  /** `backend` of its models' configurations. */
  readonly name: string;
  /** Kinds of model files; the first that fits wins. None for backends whose models are configurations alone. */
  readonly formats: readonly ModelFormat[];
  /** True: a platform alone decides that a model is of this backend, its name or the name of its file does not. */
  readonly recognisedByPlatform?: boolean;
  /** Names of runtimes and file formats that people write for it. */
  readonly aliases?: readonly string[];
  /** Instances of a group that has no count. Default 1. */
  readonly defaultCounts?: Readonly<Partial<Record<'KIND_CPU' | 'KIND_GPU' | 'KIND_MODEL', number>>>;
  /** Where fields come from that completion adds, in words without a final dot. Default `read from the model's file`. */
  readonly completionSource?: string;
}

/** Backends in the order in which a model without a configuration is tried on them. */
export type KnownBackends = readonly KnownBackend[];

/** A backend that is part of this program. */
export interface BackendTraits extends KnownBackend {
  /** File of its code, as the start-up table of backends shows it. */
  readonly codeFile: string;
  /** True when models may have inputs that a request leaves out (`optional`). */
  readonly optionalInputs?: boolean;
  /** Backend whose settings (`--backend-config`) it takes too, beneath its own. */
  readonly settingsOf?: string;
  /** Ids of the GPUs of this machine on which it can run; absent = none. */
  gpus?(): readonly number[];
  /** Imports the code. Called once, when the first model asks for the backend. */
  load(): Promise<Backend>;
  /** Imports what judges model files without running them; absent where their presence is all that can be said. */
  examine?(): Promise<FileExaminer>;
  /** A backend that is itself a model of this one, if `<directory>/<name>` (--backend-directory) holds it. */
  fromDirectory?(directory: string, name: string): BackendTraits | undefined;
}

/** A backend of Triton that is not part of this program. */
export interface AbsentBackend extends KnownBackend {
  /** Why it is not here and what to do instead, in a sentence without a final dot. */
  readonly hint: string;
  /** Imports what judges its model files as far as their format shows. */
  examine(): Promise<FileExaminer>;
}

/** Every backend that this program knows. */
export type BackendCatalogue = readonly (BackendTraits | AbsentBackend)[];
