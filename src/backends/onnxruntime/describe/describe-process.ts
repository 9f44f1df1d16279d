import { type ChildProcess, fork } from 'node:child_process';
import os from 'node:os';
import { fileURLToPath } from 'node:url';
import '../session/ort-telemetry.js';
import { type ErrorCodeName, invalidArg, TritonError } from '../../../base/error.js';
import type { OpenRequest, SessionInfo } from '../session/open-session.js';

/** To the process. */
export interface DescribeRequest {
  readonly open: OpenRequest;
}

/** From the process, one for each request. `missing`: the runtime's library cannot be loaded. */
export type DescribeReply =
  | { readonly kind: 'described'; readonly info: SessionInfo }
  | { readonly kind: 'refused'; readonly code: ErrorCodeName; readonly message: string }
  | { readonly kind: 'missing'; readonly message: string };

/** Key of `--backend-config=onnxruntime,<key>=<seconds>`: how long the runtime may take to open a model here. */
export const COMPLETION_TIMEOUT_KEY = 'completion-timeout-seconds';
/** Time for one model unless the option says otherwise, in seconds. */
export const DEFAULT_DESCRIBE_SECONDS = 60;

/** An idle process ends after this time, in ms. */
const IDLE_MS = 1000;
const ENTRY = fileURLToPath(new URL('./describe-entry.js', import.meta.url));

interface Job {
  readonly open: OpenRequest;
  readonly limitMs: number;
  resolve(reply: DescribeReply): void;
  reject(error: TritonError): void;
}

/** One process; it is given one model at a time. */
class Describer {
  readonly #child: ChildProcess;
  readonly #onIdle: (describer: Describer) => void;
  #job: Job | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(onIdle: (describer: Describer) => void, onEnd: (describer: Describer) => void) {
    this.#onIdle = onIdle;
    this.#child = fork(ENTRY, {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      execArgv: [],
    });
    this.#child.on('message', (reply: DescribeReply) => {
      const job = this.#settle();
      this.#wait(false);
      this.#timer = setTimeout(() => this.end(), IDLE_MS).unref();
      job?.resolve(reply);
      this.#onIdle(this);
    });
    let gone = false;
    const end = (text: string): void => {
      if (!gone) onEnd(this);
      gone = true;
      this.#settle()?.reject(new TritonError('INTERNAL', text));
    };
    this.#child.on('error', (reason) => end(`the process that opens models could not be used: ${reason.message}`));
    this.#child.on('exit', (code, signal) => end(`the process that opened the model ended with ${signal ?? code}`));
  }

  /** Opens a model, which ends the process when it takes too long. */
  run(job: Job): void {
    clearTimeout(this.#timer);
    this.#job = job;
    this.#wait(true);
    this.#timer = setTimeout(() => {
      this.#settle()?.reject(tooLong(job));
      this.#child.kill('SIGKILL');
    }, job.limitMs);
    this.#child.send({ open: job.open } satisfies DescribeRequest, (reason) => {
      if (reason !== null) this.#settle()?.reject(TritonError.from(reason));
    });
  }

  /** Ends the process, which must be idle; it is given nothing from here on. */
  end(): void {
    clearTimeout(this.#timer);
    remove(this);
    this.#wait(true);
    this.#child.kill('SIGKILL');
  }

  #settle(): Job | undefined {
    clearTimeout(this.#timer);
    const job = this.#job;
    this.#job = undefined;
    return job;
  }

  /** Only a process that is at work keeps this one from ending. */
  #wait(busy: boolean): void {
    this.#child[busy ? 'ref' : 'unref']();
    this.#child.channel?.[busy ? 'ref' : 'unref']();
  }
}

function tooLong({ open, limitMs }: Job): TritonError {
  return new TritonError(
    'UNAVAILABLE',
    `the runtime did not open '${open.path}' within ${limitMs / 1000} s to report its inputs and outputs. Write them into ` +
      'config.pbtxt, or allow more time with ' +
      `--backend-config=onnxruntime,${COMPLETION_TIMEOUT_KEY}=<seconds>`,
  );
}

const idle: Describer[] = [];
const waiting: Job[] = [];
let running = 0;

// A program that has nothing else to do ends without waiting for idle processes, and leaves none behind.
process.on('beforeExit', () => {
  for (const describer of [...idle]) describer.end();
});

function remove(describer: Describer): void {
  const index = idle.indexOf(describer);
  if (index >= 0) idle.splice(index, 1);
}

function next(describer?: Describer): void {
  const job = waiting.shift();
  if (job === undefined) {
    if (describer !== undefined) idle.push(describer);
    return;
  }
  const free = describer ?? idle.pop();
  if (free !== undefined) free.run(job);
  else if (running < os.availableParallelism()) {
    running++;
    new Describer(next, (ended) => {
      running--;
      remove(ended);
      next();
    }).run(job);
  } else waiting.unshift(job);
}

/**
 * Lets the runtime open a model in another process and returns what it says of it; the model is not run. Rejects with the
 * runtime's error, with UNAVAILABLE after the time limit (in seconds), with INTERNAL when the process ends. `missing`
 * when the runtime cannot be loaded at all. As many models are opened at once as the machine has cores.
 */
export async function describeSession(
  open: OpenRequest,
  limitSeconds: number,
): Promise<{ readonly info: SessionInfo; readonly missing?: undefined } | { readonly missing: string }> {
  const reply = await new Promise<DescribeReply>((resolve, reject) => {
    waiting.push({ open, limitMs: limitSeconds * 1000, resolve, reject });
    next();
  });
  if (reply.kind === 'missing') return { missing: reply.message };
  if (reply.kind === 'refused') throw new TritonError(reply.code, reply.message);
  return { info: reply.info };
}

/** How long the runtime may take to open a model here, in seconds, by the backend's settings. Throws INVALID_ARG for other values. */
export function describeSeconds(config: ReadonlyMap<string, string>): number {
  const text = config.get(COMPLETION_TIMEOUT_KEY) ?? String(DEFAULT_DESCRIBE_SECONDS);
  const seconds = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && seconds > 0 && seconds <= 1_000_000) return seconds;
  throw invalidArg(
    `${COMPLETION_TIMEOUT_KEY} is a number of seconds above 0, up to 1000000: ` +
      `--backend-config=onnxruntime,${COMPLETION_TIMEOUT_KEY}=${text}`,
  );
}
