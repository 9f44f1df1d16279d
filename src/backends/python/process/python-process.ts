import type { StdioOptions } from 'node:child_process';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { TritonError } from '../../../base/error.js';
import { FrameFault, FrameReader, FrameSplitter } from '../wire/frame-reader.js';
import { FrameWriter } from '../wire/frame-writer.js';
import { ModelMemory, SharedMemory } from '../wire/shared-memory.js';
import type { Memories } from '../wire/tensor-codec.js';
import { FromModel, isFromModel, ToModel } from '../wire/wire.js';
import { EXECUTABLE_KEY, EXECUTABLE_VARIABLE, type Interpreter } from './interpreter.js';
import { ProcessGroup } from './process-group.js';

/** The script of the process; it lies beside `dist` in the package. */
const SCRIPT = findScript();

/** What a process sent before it ended is read for so long at most, in ms: others may hold its end of the socket. */
const DRAIN_MS = 1000;

/** A process that closed its connection has so long to end, in ms. */
const CLOSED_GRACE_MS = 2000;

/** A process whose model could not be initialised has so long to end by itself, in ms. */
const REFUSED_GRACE_MS = 2000;

/** What a process is given at its start. */
export interface ProcessSettings {
  /** `serve`: an instance; `complete`: only completes the configuration. */
  readonly mode: 'serve' | 'complete';
  readonly decoupled: boolean;
  readonly model_name: string;
  readonly version_directory: string;
  readonly model_file: string;
  /** Name under which the file is imported. */
  readonly module: string;
  /** Directories for imports. */
  readonly search_path: readonly string[];
  /** Name of the instance. */
  readonly instance: string;
  /** Longest frame in bytes, in both directions. */
  readonly max_frame_bytes: number;
  /** Configuration as JSON. */
  readonly model_config: string;
  /** What `initialize` gets. */
  readonly arguments: Readonly<Record<string, string>>;
}

/** What a process reports while it runs. */
export interface ProcessEvents {
  /** A frame that is none of the start or the end. */
  onFrame(kind: number, frame: FrameReader, process: PythonProcess): void;
  /** A process that had started is gone; nothing follows. A start that failed is reported by its rejection alone. */
  onExit(): void;
}

/** A Python process that runs one instance of a model. */
export class PythonProcess {
  readonly memories: Memories;
  /** True when the model has an `is_ready` of its own. */
  hasReadyCheck = false;
  /** Completed configuration as JSON, in mode `complete`; '' = unchanged. */
  completed = '';
  /** True once the process is gone: its memory is closed, and nothing reaches it any more. */
  ended = false;
  /** What it sent that cannot be read, in words; it was ended for that. */
  fault: string | undefined;
  readonly #limit: number;
  readonly #group: ProcessGroup;
  readonly #socket: Socket;
  readonly #pipe: Socket;
  readonly #events: ProcessEvents;
  /** Resolves when the process was noticed to be gone. */
  readonly #exited: Promise<void>;
  /** Settles the start; undefined once it is settled. */
  #started: ((error?: TritonError) => void) | undefined;
  /** The model is initialised: from now on the end of the process is a matter of `onExit`. */
  #serves = false;

  private constructor(interpreter: Interpreter, settings: ProcessSettings, events: ProcessEvents) {
    this.#events = events;
    this.#limit = settings.max_frame_bytes;
    const fromModel = new ModelMemory();
    const toModel = new SharedMemory();
    this.memories = { toModel, fromModel };
    const { command, args } = interpreter;
    try {
      const stdio: StdioOptions = ['ignore', 'inherit', 'inherit', 'pipe', 'pipe', toModel.fd, fromModel.fd];
      this.#group = new ProcessGroup(command, [...args, SCRIPT], stdio);
    } catch (reason) {
      this.#closeMemories();
      throw cannotStart(reason as Error, command);
    }
    this.#socket = this.#group.child.stdio[3] as Socket;
    this.#pipe = this.#group.child.stdio[4] as Socket;
    const splitter = new FrameSplitter(this.#limit, checkKind, (frame) => this.#receive(new FrameReader(frame)));
    this.#socket.on('data', (chunk: Buffer) => {
      if (this.fault !== undefined) return;
      try {
        splitter.push(chunk);
      } catch (reason) {
        // Nothing that follows can be trusted. Only this process ends, and with it the requests that it has.
        this.fault = (reason as Error).message;
        this.#group.kill();
      }
    });
    // The model's code closed the connection, and nothing can come from there any more: nobody shall wait for it.
    this.#socket.once('end', () => {
      const timer = setTimeout(() => {
        if (this.ended) return;
        this.fault ??= 'its connection is closed although it still runs';
        this.#group.kill();
      }, CLOSED_GRACE_MS);
      void this.#group.exited.then(() => clearTimeout(timer));
    });
    // Both ends of the connection break when the process dies; its exit is what counts.
    this.#socket.on('error', () => {});
    this.#pipe.on('error', () => {});
    this.#exited = this.#group.exited.then(async (error) => {
      if (error === undefined) await this.#drained();
      this.#end(error, settings.instance, command);
    });
    const init = new FrameWriter(ToModel.INIT, 4096);
    init.text(JSON.stringify(settings));
    this.send(init.finish());
  }

  /**
   * Starts a process and waits until its model is initialised. Rejects with the TritonError that says why it is not, or
   * with the reason of `cancelled`; nothing of the process is left then.
   */
  static async start(
    interpreter: Interpreter,
    settings: ProcessSettings,
    events: ProcessEvents,
    cancelled?: AbortSignal,
  ): Promise<PythonProcess> {
    cancelled?.throwIfAborted();
    const process = new PythonProcess(interpreter, settings, events);
    const error = await new Promise<TritonError | undefined>((resolve) => {
      process.#started = resolve;
      cancelled?.addEventListener('abort', process.#cancel, { once: true });
    });
    cancelled?.removeEventListener('abort', process.#cancel);
    if (error === undefined && !cancelled?.aborted) return process;
    process.#serves = false;
    await process.#endRefused();
    throw cancelled?.aborted ? TritonError.from(cancelled.reason) : error;
  }

  get pid(): number {
    return this.#group.child.pid ?? 0;
  }

  /** Throws when a frame is longer than frames may be: the process would end itself over it. */
  checkLength(frame: Buffer): void {
    if (frame.length - 4 <= this.#limit) return;
    throw new TritonError(
      'INTERNAL',
      `A message of ${frame.length - 4} bytes to the process of a Python model is longer than the limit of ${this.#limit} ` +
        'bytes. Large tensors travel in shared memory: make room in /dev/shm, or set a higher limit with ' +
        '--backend-config=python,max-frame-bytes=<bytes>.',
    );
  }

  /** Sends a frame to the main thread of the process. */
  send(frame: Buffer): void {
    this.#socket.write(frame);
  }

  /** Sends a frame to the thread that listens while the model runs. */
  control(frame: Buffer): void {
    this.#pipe.write(frame);
  }

  /** Resolves when the process and all that it started are gone. */
  async gone(): Promise<void> {
    await this.#exited;
    await this.#group.gone;
  }

  /** Lets the model finalise and resolves when the process and all that it started are gone. */
  async finalize(): Promise<void> {
    if (!this.ended) this.send(new FrameWriter(ToModel.FINALIZE, 8).finish());
    await this.gone();
  }

  /** Ends the process and all that it started at once; resolves when they are gone. */
  async kill(): Promise<void> {
    this.#group.kill();
    await this.gone();
  }

  readonly #cancel = (): void => this.#group.kill();

  /** The model said that it could not be initialised: its process has nothing to do any more. */
  async #endRefused(): Promise<void> {
    const timer = setTimeout(this.#cancel, REFUSED_GRACE_MS);
    await this.gone();
    clearTimeout(timer);
  }

  /** Resolves when all that the process sent was read. */
  async #drained(): Promise<void> {
    const socket = this.#socket;
    if (socket.readableEnded || socket.destroyed) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, DRAIN_MS);
      socket.once('close', () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #receive(frame: FrameReader): void {
    const kind = frame.u8();
    checkKind(kind);
    switch (kind) {
      case FromModel.READY:
        this.hasReadyCheck = frame.u8() === 1;
        this.#serves = true;
        this.#announce();
        break;
      case FromModel.COMPLETED:
        this.completed = frame.text();
        this.#serves = true;
        this.#announce();
        break;
      case FromModel.FAILED:
        this.#announce(new TritonError('INTERNAL', frame.text()));
        break;
      case FromModel.FINALIZED:
        break;
      default:
        this.#events.onFrame(kind, frame, this);
    }
  }

  #announce(error?: TritonError): void {
    this.#started?.(error);
    this.#started = undefined;
  }

  #end(error: Error | undefined, instance: string, command: string): void {
    this.ended = true;
    this.#socket.destroy();
    this.#pipe.destroy();
    this.#closeMemories();
    if (this.#serves) this.#events.onExit();
    else if (error !== undefined) this.#announce(cannotStart(error, command));
    else this.#announce(notHealthy(instance, this.fault));
  }

  #closeMemories(): void {
    this.memories.toModel.close();
    this.memories.fromModel.close();
  }
}

/** Error of requests whose process died, or was ended for what it sent. */
export function notHealthy(instance: string, fault?: string): TritonError {
  const why =
    fault === undefined ? '' : ` It was ended because it sent what the server cannot read: ${fault.slice(0, 500)}.`;
  return new TritonError('INTERNAL', `Stub process '${instance}' is not healthy.${why}`);
}

function checkKind(kind: number): void {
  if (!isFromModel(kind)) throw new FrameFault(`a frame has the unknown kind ${kind}`);
}

/** Error of an interpreter that cannot be started. */
export function cannotStart(error: Error, command: string): TritonError {
  return new TritonError(
    'INTERNAL',
    `Python models need a Python interpreter, and '${command}' cannot be started (${error.message}): install Python 3 ` +
      `with numpy, or name an interpreter with --backend-config=python,${EXECUTABLE_KEY}=<path> or the environment ` +
      `variable ${EXECUTABLE_VARIABLE}`,
    { cause: error },
  );
}

/** Text for an interpreter without numpy; its other half is in python/triton_runtime/start.py. */
export function needsNumpy(executable: string, why: string): string {
  return `Python models need numpy, and ${executable} cannot import it (${why}): install it with '${executable} -m pip install numpy', or name another interpreter with --backend-config=python,${EXECUTABLE_KEY}=<path> or the environment variable ${EXECUTABLE_VARIABLE}`;
}

/** This file runs from dist/src/backends/python/process; the script is in the package's directory `python`. */
function findScript(): string {
  return fileURLToPath(new URL('../../../../../python/run_model.py', import.meta.url));
}
