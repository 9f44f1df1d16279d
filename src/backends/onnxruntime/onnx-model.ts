import { statSync } from 'node:fs';
import { TritonError } from '../../base/error.js';
import { readRegularFileSync } from '../../base/files/read-regular-file.js';
import type {
  BackendInstance,
  BackendModel,
  BackendOptions,
  InstanceSpec,
  ModelLocation,
} from '../../contract/backend.js';
import { throwFirst } from '../../contract/fault.js';
import { checkOnnxAgainstConfig } from '../../onnx/check-config.js';
import { externalFiles, type OnnxModel as OnnxHeader, readOnnxFile } from '../../onnx/onnx-file.js';
import { locateOnnxFile } from '../../onnx/onnx-path.js';
import { datatypeOfElementType } from '../../onnx/onnx-types.js';
import { RunBounds } from '../../onnx/run-bounds.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import { OnnxInstance } from './onnx-instance.js';
import { Placement } from './placement.js';
import { checkBinding } from './session/check-binding.js';
import { MAX_REWRITTEN_BYTES, type OpenRequest, type SessionInfo } from './session/open-session.js';
import { loadOrtBinding } from './session/ort-binding.js';
import { mergeSessionInfo } from './session/session-info.js';
import {
  logSessionSettings,
  readSessionSettings,
  type SessionSettings,
  sessionOptions,
} from './session/session-options.js';
import { MainThreadRuns } from './threads/main-thread-runs.js';
import { OwnThread } from './threads/own-thread.js';
import { Lane, pool, type SharedModel } from './threads/thread-pool.js';

/**
 * Models with larger files, weights in other files included, run in threads of their own: in shared ones each thread
 * would hold a copy.
 */
const MAX_SHARED_FILE_BYTES = 1024 * 1024;

/** A model's file in memory that threads share. */
function readShared(path: string): Uint8Array {
  const bytes = readRegularFileSync(path, MAX_REWRITTEN_BYTES);
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  return shared;
}

/** Settings of the backend that its models need. */
export interface OnnxBackendSettings {
  /** Longest run that may happen on the main thread, in ns; 0 = none may. */
  readonly inlineLimitNs: number;
}

interface SharedPlaces {
  /** The model's file, in memory that threads share. */
  readonly content: Uint8Array;
  readonly model: SharedModel;
  readonly main: MainThreadRuns | undefined;
}

/** One loaded version of an ONNX model. */
export class OnnxModel implements BackendModel {
  readonly config: ModelConfig;
  readonly #header: OnnxHeader;
  readonly #settings: SessionSettings;
  readonly #backend: OnnxBackendSettings;
  readonly #options: BackendOptions;
  readonly #placement: Placement;
  readonly #mayShare: boolean;
  #shared: Promise<SharedPlaces> | undefined;

  /** Reads the file's header and the session's settings; throws what makes the version unloadable. */
  constructor(location: ModelLocation, config: ModelConfig, options: BackendOptions, backend: OnnxBackendSettings) {
    this.config = config;
    this.#options = options;
    this.#backend = backend;
    this.#settings = readSessionSettings(config);
    logSessionSettings(config, options.log);
    const file = config.default_model_filename === '' ? 'model.onnx' : config.default_model_filename;
    this.#header = readOnnxFile(locateOnnxFile(`${location.versionDirectory}/${file}`, location.name));
    this.#mayShare = this.#isSmall();
    const context = { model: config.name, version: location.version, log: options.log, metrics: options.host?.metrics };
    this.#placement = new Placement(context, this.#mayShare);
  }

  async createInstance(spec: InstanceSpec): Promise<BackendInstance> {
    this.#checkAccelerators(spec);
    const open: OpenRequest = {
      path: this.#header.path,
      externalFiles: externalFiles(this.#header),
      options: sessionOptions(this.#settings, spec.threads, spec.kind === 'KIND_GPU' ? spec.deviceId : undefined),
      runOptions: this.#settings.runOptions,
      replaceable: this.#replaceable(),
    };
    let shared: SharedPlaces | undefined;
    if (this.#mayShare && spec.kind !== 'KIND_GPU') {
      this.#shared ??= this.#share(open);
      shared = await this.#shared;
    }
    const own = new OwnThread(spec.name, shared === undefined ? open : { ...open, content: shared.content });
    if (shared === undefined) await this.#openOwn(own);
    const lane = shared === undefined ? undefined : new Lane(shared.model);
    const places = { placement: this.#placement, main: shared?.main, lane, own };
    return new OnnxInstance(spec.name, this.config, this.#unfeedable(), places);
  }

  async unload(): Promise<void> {
    const shared = await this.#shared?.catch(() => undefined); // what could not be opened left the pool already
    shared?.main?.dispose();
    if (shared !== undefined) await pool.leave(shared.model);
    this.#placement.dispose();
  }

  async #openOwn(own: OwnThread): Promise<void> {
    const info = await own.open();
    try {
      this.#check(info);
    } catch (reason) {
      await own.close();
      throw reason;
    }
  }

  /** Opens the model in a shared thread, and sees whether it may earn the main thread. */
  async #share(open: OpenRequest): Promise<SharedPlaces> {
    const single: OpenRequest = { ...open, options: { ...open.options, intraOpNumThreads: 1, interOpNumThreads: 1 } };
    const { threadBudget } = this.#options;
    const model = pool.join(single, threadBudget, (reason) => this.#placement.leaveShared(reason));
    try {
      const content = readShared(open.path);
      // From the file: the runtime's errors name it.
      const info = await pool.open(new Lane(model));
      if (Buffer.compare(content, readShared(open.path)) !== 0) {
        throw new TritonError('UNAVAILABLE', `'${open.path}' was changed while it was loaded: load the model again`);
      }
      this.#check(info);
      // Threads open the model when they first run it: what is loaded stays the same, whatever becomes of the file.
      const kept = { ...single, content };
      model.open = kept;
      return { content, model, main: this.#mainThreadRuns(kept, content, info) };
    } catch (reason) {
      await pool.leave(model);
      throw reason;
    }
  }

  #mainThreadRuns(open: OpenRequest, content: Uint8Array, info: SessionInfo): MainThreadRuns | undefined {
    const { inlineLimitNs } = this.#backend;
    const { input, batch_input: batchInputs } = this.config;
    if (inlineLimitNs === 0) return undefined;
    // The shapes of these do not follow from the shapes of one request.
    if (batchInputs.length > 0 || input.some((one) => one.allow_ragged_batch)) return undefined;
    const takesStrings = info.inputs.some(({ type }) => datatypeOfElementType(type ?? 0) === 'BYTES');
    const bounds = RunBounds.read(Buffer.from(content), takesStrings);
    if (bounds === undefined) return undefined;
    loadOrtBinding(); // now, not while requests wait
    return new MainThreadRuns(open, bounds, inlineLimitNs, {
      toMain: (reason) =>
        this.#placement.moved(
          'main',
          `${reason} (--backend-config=onnxruntime,inline-execution=off switches this off)`,
        ),
      back: (reason) => this.#placement.moved(this.#placement.shared ? 'shared' : 'own', reason),
    });
  }

  /** True for models of which every shared thread may hold a copy and which ask for no threads inside a run. */
  #isSmall(): boolean {
    const { intraThreads, interThreads, options } = this.#settings;
    if (intraThreads > 1 || interThreads > 1 || options.executionMode === 'parallel') return false;
    return this.#header.externalData.length === 0 && statSync(this.#header.path).size <= MAX_SHARED_FILE_BYTES;
  }

  /** Compares configuration and model; throws the first fault. */
  #check(info: SessionInfo): void {
    throwFirst(checkOnnxAgainstConfig(this.config, mergeSessionInfo(this.#header, info)));
    throwFirst(checkBinding(this.config));
  }

  /** Configured inputs that replace a stored value of the model; none when the file cannot be rewritten in memory. */
  #replaceable(): string[] {
    const { overridable, externalData, path } = this.#header;
    if (overridable.length === 0 || externalData.length > 0) return [];
    if (statSync(path).size > MAX_REWRITTEN_BYTES) return [];
    return overridable.map(({ name }) => name).filter((name) => this.config.input.some((input) => input.name === name));
  }

  /** Other inputs with a stored value: the binding drops what is fed for them, so feeding them is refused. */
  #unfeedable(): ReadonlySet<string> {
    const replaceable = this.#replaceable();
    return new Set(this.#header.overridable.map(({ name }) => name).filter((name) => !replaceable.includes(name)));
  }

  #checkAccelerators(spec: InstanceSpec): void {
    if (spec.kind !== 'KIND_GPU') return;
    for (const { name } of this.config.optimization?.execution_accelerators?.gpu_execution_accelerator ?? []) {
      if (name === 'cuda') continue;
      throw new TritonError('INVALID_ARG', `unknown Execution Accelerator '${name}' is requested`);
    }
  }
}
