import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { TritonError } from '../../protocol/error.js';
import { FrameReader, FrameSplitter } from './frame-reader.js';
import { FrameWriter } from './frame-writer.js';
import { EXECUTABLE_KEY, EXECUTABLE_VARIABLE, type Interpreter } from './interpreter.js';
import { openUnnamedFile, SharedMemory } from './shared-memory.js';
import type { Memories } from './tensor-codec.js';
import { FromModel, ToModel } from './wire.js';

/** The script of the process; it lies beside `dist` in the package. */
const SCRIPT = findScript();

/** Processes that run: whatever way the server ends, they end with it. */
const running = new Set<ChildProcess>();
let watchesExit = false;

/** What a process is told at its start. */
export interface ProcessSettings {
  /** `serve`: an instance; `complete`: only completes the configuration. */
  readonly mode: 'serve' | 'complete';
  readonly decoupled: boolean;
  readonly model_name: string;
  readonly version_directory: string;
  readonly model_file: string;
  /** Name under which the file is imported. */
  readonly module: string;
  /** Folders for imports. */
  readonly search_path: readonly string[];
  /** Name of the instance. */
  readonly instance: string;
  /** Configuration as JSON. */
  readonly model_config: string;
  /** What `initialize` gets. */
  readonly arguments: Readonly<Record<string, string>>;
}

/** What a process reports while it runs. */
export interface ProcessEvents {
  /** A frame that is none of the start or the end. */
  onFrame(kind: number, frame: FrameReader, process: PythonProcess): void;
  /** The process is gone; nothing follows. */
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
  readonly #child: ChildProcess;
  readonly #socket: Socket;
  readonly #pipe: Socket;
  readonly #events: ProcessEvents;
  readonly #exited: Promise<void>;
  #started: ((error?: TritonError) => void) | undefined;

  private constructor(interpreter: Interpreter, settings: ProcessSettings, events: ProcessEvents) {
    this.#events = events;
    const fromModel = openUnnamedFile();
    this.memories = { toModel: new SharedMemory(), fromModel };
    const { command, args } = interpreter;
    this.#child = spawn(command, [...args, SCRIPT], {
      stdio: ['ignore', 'inherit', 'inherit', 'pipe', 'pipe', this.memories.toModel.fd, fromModel],
    });
    watchExit();
    running.add(this.#child);
    this.#socket = this.#child.stdio[3] as Socket;
    this.#pipe = this.#child.stdio[4] as Socket;
    const splitter = new FrameSplitter((frame) => this.#receive(new FrameReader(frame)));
    this.#socket.on('data', (chunk: Buffer) => splitter.push(chunk));
    // Both ends of the connection break when the process dies; its exit is what counts.
    this.#socket.on('error', () => {});
    this.#pipe.on('error', () => {});
    this.#exited = new Promise((resolve) => {
      let error: Error | undefined;
      const ended = () => {
        if (!running.delete(this.#child)) return;
        // What the process sent before it died is still in the socket.
        const finish = () => {
          this.#end(error, settings.instance, command);
          resolve();
        };
        if (error !== undefined || this.#socket.readableEnded || this.#socket.destroyed) finish();
        else this.#socket.once('close', finish);
      };
      this.#child.once('error', (reason) => {
        error = reason;
        if (this.#child.pid === undefined) ended();
      });
      this.#child.once('exit', ended);
    });
    const init = new FrameWriter(ToModel.INIT, 4096);
    init.text(JSON.stringify(settings));
    this.send(init.finish());
  }

  /** Starts a process and waits until its model is initialised. Rejects with the TritonError that says why it is not. */
  static async start(
    interpreter: Interpreter,
    settings: ProcessSettings,
    events: ProcessEvents,
  ): Promise<PythonProcess> {
    const process = new PythonProcess(interpreter, settings, events);
    const error = await new Promise<TritonError | undefined>((resolve) => {
      process.#started = resolve;
    });
    if (error === undefined) return process;
    await process.#exited;
    throw error;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Sends a frame to the main thread of the process. */
  send(frame: Buffer): void {
    this.#socket.write(frame);
  }

  /** Sends a frame to the thread that listens while the model runs. */
  control(frame: Buffer): void {
    this.#pipe.write(frame);
  }

  /** Lets the model finalise and resolves when the process is gone. */
  async finalize(): Promise<void> {
    if (running.has(this.#child)) this.send(new FrameWriter(ToModel.FINALIZE, 8).finish());
    await this.#exited;
  }

  /** Ends the process at once and resolves when it is gone. */
  async kill(): Promise<void> {
    if (running.has(this.#child)) this.#child.kill('SIGKILL');
    await this.#exited;
  }

  #receive(frame: FrameReader): void {
    const kind = frame.u8();
    switch (kind) {
      case FromModel.READY:
        this.hasReadyCheck = frame.u8() === 1;
        this.#announce();
        break;
      case FromModel.COMPLETED:
        this.completed = frame.text();
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
    if (this.#started === undefined) this.#events.onExit();
    else if (error !== undefined) this.#announce(cannotStart(error, command));
    else this.#announce(notHealthy(instance));
    this.memories.toModel.close();
    fs.closeSync(this.memories.fromModel);
  }
}

/** Error of requests whose process died. */
export function notHealthy(instance: string): TritonError {
  return new TritonError('INTERNAL', `Stub process '${instance}' is not healthy.`);
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

function watchExit(): void {
  if (watchesExit) return;
  watchesExit = true;
  process.on('exit', () => {
    for (const child of running) child.kill('SIGKILL');
  });
}

/** This file runs from dist/src/backends/python; the script is in the package's folder `python`. */
function findScript(): string {
  return fileURLToPath(new URL('../../../../python/run_model.py', import.meta.url));
}
