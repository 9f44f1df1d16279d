/** Finds backends by name. Each loads only when a model asks for it: native modules cost start-up time and memory. */

import { TritonError } from '../base/error.js';
import type { Backend } from '../contract/backend.js';
import type { BackendCatalogue, BackendTraits } from '../contract/backend-traits.js';
import type { FileExaminer } from '../contract/file-examiner.js';
import { CATALOGUE } from './catalogue.js';

/** A backend that a model asked for and that was found. */
export interface LoadedBackend {
  readonly backend: Backend;
  readonly traits: BackendTraits;
}

/** Looks backends up, each at most once. */
export class BackendRegistry {
  /** What is known about backends, also about those that are not here. */
  readonly catalogue: BackendCatalogue;
  readonly #directory: string | undefined;
  readonly #loads = new Map<string, Promise<LoadedBackend>>();
  readonly #loaded = new Map<string, LoadedBackend>();

  /** `directory` (--backend-directory): where backends lie that are models of another backend. */
  constructor(directory?: string, catalogue: BackendCatalogue = CATALOGUE) {
    this.#directory = directory;
    this.catalogue = catalogue;
  }

  /** Backends in use, by name. */
  get loaded(): ReadonlyMap<string, LoadedBackend> {
    return this.#loaded;
  }

  /** A backend that can be used here; nothing is loaded. Undefined when there is none of that name. */
  traits(name: string): BackendTraits | undefined {
    const known = this.catalogue.find((backend) => backend.name === name);
    if (known !== undefined && 'load' in known) return known;
    const directory = this.#directory;
    if (directory === undefined) return undefined;
    for (const backend of this.catalogue) {
      const found = 'fromDirectory' in backend ? backend.fromDirectory?.(directory, name) : undefined;
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Loads the backend of a name. Rejects with Triton's message when there is none. */
  find(name: string): Promise<LoadedBackend> {
    let load = this.#loads.get(name);
    if (load === undefined) {
      load = this.#load(name);
      this.#loads.set(name, load);
    }
    return load;
  }

  /** Why a backend that Triton has is not here, in a sentence; undefined for unknown names. */
  hint(name: string): string | undefined {
    const known = this.catalogue.find((backend) => backend.name === name);
    return known !== undefined && 'hint' in known ? known.hint : undefined;
  }

  /** What judges the model files of a backend, also of one that is not here. */
  async examiner(name: string): Promise<FileExaminer> {
    const known = this.catalogue.find((backend) => backend.name === name) ?? this.traits(name);
    if (known?.examine !== undefined) return await known.examine();
    if (known?.formats.length === 0) return examineNothing;
    return (await import('./elsewhere/examine-foreign-file.js')).examineForeignFile;
  }

  /** Ids of the GPUs of this machine on which any of the backends can run. */
  gpus(): readonly number[] {
    const ids = this.catalogue.flatMap((backend) => ('gpus' in backend ? (backend.gpus?.() ?? []) : []));
    return [...new Set(ids)].sort((a, b) => a - b);
  }

  async #load(name: string): Promise<LoadedBackend> {
    const traits = this.traits(name);
    if (traits === undefined) {
      throw new TritonError(
        'INVALID_ARG',
        `unable to find backend library for backend '${name}', try specifying runtime on the model configuration.`,
      );
    }
    const found = { backend: await traits.load(), traits };
    this.#loaded.set(name, found);
    return found;
  }
}

/** Of models that are configurations alone. */
const examineNothing: FileExaminer = async ({ config }) => ({
  config,
  provided: false,
  tensors: 'complete',
  faults: [],
  doubts: [],
  instanceFaults: async () => [],
});
