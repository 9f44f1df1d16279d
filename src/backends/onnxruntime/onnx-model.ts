import { statSync } from 'node:fs';
import { throwFirst } from '../../modelconfig/fault.js';
import { TritonError } from '../../protocol/error.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import type { BackendInstance, BackendModel, BackendOptions, InstanceSpec, ModelLocation } from '../backend.js';
import { checkBinding } from './check-binding.js';
import { checkOnnxAgainstConfig } from './check-config.js';
import { InlineSession } from './inline-session.js';
import { type OnnxModel as OnnxHeader, readOnnxFile } from './onnx-file.js';
import { OnnxInstance } from './onnx-instance.js';
import { locateOnnxFile } from './onnx-path.js';
import type { OpenRequest, SessionInfo } from './open-session.js';
import { probeModel } from './probe.js';
import { mergeSessionInfo } from './session-info.js';
import { readSessionSettings, type SessionSettings, sessionOptions } from './session-options.js';
import { SessionWorker } from './session-worker.js';

/** Models with larger files are never run on the main thread: a second copy of their weights costs too much. */
const MAX_INLINE_FILE_BYTES = 64 * 1024 * 1024;
/** Models with larger files are opened as they are: every instance would hold a second copy of the file for a while. */
const MAX_REWRITTEN_FILE_BYTES = 512 * 1024 * 1024;
/** Longest time that opening a session may block the main thread, in ns. */
const MAX_INLINE_OPEN_NS = 200_000_000;

/** A trial that takes longer in ms (its thread may be busy with others, too) tells enough: the model is not fast. */
const MAX_PROBE_MS = 3000;

/** Settings of the backend that its models need. */
export interface OnnxBackendSettings {
  /** Longest run that may happen on the main thread, in ns; 0 = none may. */
  readonly inlineLimitNs: number;
}

/** One loaded version of an ONNX model. */
export class OnnxModel implements BackendModel {
  readonly config: ModelConfig;
  readonly #header: OnnxHeader;
  readonly #settings: SessionSettings;
  readonly #backend: OnnxBackendSettings;
  readonly #options: BackendOptions;
  #inline: Promise<InlineSession | undefined> | undefined;

  /** Reads the file's header and the session's settings; throws what makes the version unloadable. */
  constructor(location: ModelLocation, config: ModelConfig, options: BackendOptions, backend: OnnxBackendSettings) {
    this.config = config;
    this.#options = options;
    this.#backend = backend;
    this.#settings = readSessionSettings(config);
    const file = config.default_model_filename === '' ? 'model.onnx' : config.default_model_filename;
    this.#header = readOnnxFile(locateOnnxFile(`${location.versionDirectory}/${file}`, location.name));
  }

  async createInstance(spec: InstanceSpec): Promise<BackendInstance> {
    this.#checkAccelerators(spec);
    const open: OpenRequest = {
      path: this.#header.path,
      options: sessionOptions(this.#settings, spec.threads, spec.kind === 'KIND_GPU' ? spec.deviceId : undefined),
      runOptions: this.#settings.runOptions,
      replaceable: this.#replaceable(),
    };
    this.#inline ??= spec.kind === 'KIND_GPU' ? Promise.resolve(undefined) : this.#openInline(open);
    const inline = await this.#inline;
    const start = async (): Promise<SessionWorker> => {
      const worker = await SessionWorker.open(open);
      try {
        this.#check(worker.info);
      } catch (reason) {
        await worker.close();
        throw reason;
      }
      return worker;
    };
    const worker = inline === undefined ? await start() : undefined;
    return new OnnxInstance(spec.name, this.config, this.#unfeedable(), inline, worker, start);
  }

  async unload(): Promise<void> {
    (await this.#inline)?.dispose();
  }

  /** Opens the model on the main thread too, if it is small and a probe in another thread showed it to be fast. */
  async #openInline(open: OpenRequest): Promise<InlineSession | undefined> {
    const { inlineLimitNs } = this.#backend;
    if (inlineLimitNs === 0 || this.#header.externalData.length > 0) return undefined;
    if (statSync(this.#header.path).size > MAX_INLINE_FILE_BYTES) return undefined;
    const single: OpenRequest = { ...open, options: { ...open.options, intraOpNumThreads: 1, interOpNumThreads: 1 } };
    const { max_batch_size: most } = this.config;
    const probe = await within(MAX_PROBE_MS, probeModel(single, most > 1 ? [1, most] : [most]));
    if (probe === undefined) return undefined;
    this.#check(probe.info);
    if (probe.runNs === undefined || probe.runNs > inlineLimitNs || probe.info.openNs > MAX_INLINE_OPEN_NS) {
      return undefined;
    }
    this.#options.log.info(
      `model '${this.config.name}' runs on the main thread: ${Math.ceil(probe.runNs / 1000)} us at most in a trial, ` +
        `limit ${inlineLimitNs / 1000} us (--backend-config=onnxruntime,inline-execution=off switches this off)`,
    );
    return new InlineSession(this.config.name, single, inlineLimitNs, this.#options.log);
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
    if (statSync(path).size > MAX_REWRITTEN_FILE_BYTES) return [];
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

/** The promise's value, or undefined when the time is over first; what the promise does later is not waited for. */
async function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
    promise.catch(() => {}); // a late failure shows when the instance opens the model itself
  }
}
