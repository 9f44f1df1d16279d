/** Finds backends by name. Each loads only when a model asks for it: native modules cost start-up time and memory. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Backend } from '../contract/backend.js';
import { TritonError } from '../protocol/error.js';

/** Backends that this program contains. */
const BUILT_IN: Readonly<Record<string, () => Promise<{ backend: Backend }>>> = {
  onnxruntime: () => import('./onnxruntime/onnxruntime-backend.js'),
  identity: () => import('./identity/identity-backend.js'),
  python: () => import('./python/python-backend.js'),
  repeat: () => import('./repeat/repeat-backend.js'),
};

/** What stands in the way of well-known backends, for the log: the error text itself is the original's. */
const MISSING: Readonly<Record<string, string>> = {
  tensorrt: 'TensorRT plans need an NVIDIA GPU and TensorRT; export the model to ONNX to run it with onnxruntime',
  pytorch: 'TorchScript needs libtorch; export the model to ONNX (torch.onnx.export) to run it with onnxruntime',
  tensorflow: 'TensorFlow models need TensorFlow; convert the model to ONNX (tf2onnx) to run it with onnxruntime',
  openvino: 'OpenVINO is not part of this program; export the model to ONNX to run it with onnxruntime',
};

/** A backend that a model asked for and that was found. */
export interface LoadedBackend {
  readonly backend: Backend;
  /** File of its code, as the start-up table shows it. */
  readonly path: string;
}

/** Looks backends up, each at most once. */
export class BackendRegistry {
  readonly #extra: ReadonlyMap<string, Backend>;
  readonly #directory: string | undefined;
  readonly #loads = new Map<string, Promise<LoadedBackend>>();
  readonly #loaded = new Map<string, LoadedBackend>();

  /**
   * `extra`: backends beside the built-in ones, by name; they go first. `directory`: folder in which backends lie that
   * are Python models themselves, each as `<name>/model.py`.
   */
  constructor(extra: readonly Backend[] = [], directory?: string) {
    this.#directory = directory;
    this.#extra = new Map(extra.map((backend) => [backend.name, backend]));
  }

  /** Backends in use, by name. */
  get loaded(): ReadonlyMap<string, LoadedBackend> {
    return this.#loaded;
  }

  /** True for backends that can be found; nothing is loaded. */
  has(name: string): boolean {
    return this.#extra.has(name) || Object.hasOwn(BUILT_IN, name) || this.#pythonFile(name) !== undefined;
  }

  /** True for backends that are Python models themselves. */
  isPythonModel(name: string): boolean {
    return !this.#extra.has(name) && !Object.hasOwn(BUILT_IN, name) && this.#pythonFile(name) !== undefined;
  }

  /** The backend of a name. Rejects with the server's text when there is none. */
  find(name: string): Promise<LoadedBackend> {
    let load = this.#loads.get(name);
    if (load === undefined) {
      load = this.#load(name);
      this.#loads.set(name, load);
    }
    return load;
  }

  /** Why a backend that exists elsewhere is not here, in a sentence; undefined for unknown names. */
  hint(name: string): string | undefined {
    return Object.hasOwn(MISSING, name) ? MISSING[name] : undefined;
  }

  /** The file of a backend that is a Python model; undefined when there is none of that name. */
  #pythonFile(name: string): string | undefined {
    if (this.#directory === undefined || !/^[\w.-]+$/.test(name) || name === '..') return undefined;
    const file = path.join(this.#directory, name, 'model.py');
    return existsSync(file) ? file : undefined;
  }

  async #load(name: string): Promise<LoadedBackend> {
    const extra = this.#extra.get(name);
    let found: LoadedBackend | undefined;
    if (extra !== undefined) {
      found = { backend: extra, path: '' };
    } else if (Object.hasOwn(BUILT_IN, name)) {
      const { backend } = await BUILT_IN[name]!();
      found = { backend, path: new URL(`./${name}/${name}-backend.js`, import.meta.url).pathname };
    }
    const file = found === undefined ? this.#pythonFile(name) : undefined;
    if (file !== undefined) {
      const { createPythonBackend } = await import('./python/python-backend.js');
      found = { backend: createPythonBackend(name, path.dirname(file)), path: file };
    }
    if (found === undefined) {
      throw new TritonError(
        'INVALID_ARG',
        `unable to find backend library for backend '${name}', try specifying runtime on the model configuration.`,
      );
    }
    this.#loaded.set(name, found);
    return found;
  }
}
