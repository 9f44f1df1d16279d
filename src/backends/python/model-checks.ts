/**
 * Runs the code of many Python models up to the end of `initialize`, for the checker of repositories: one Python process for
 * each interpreter, which forks for each model (python/check_models.py).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { TritonError } from '../../base/error.js';
import type { Interpreter } from './process/interpreter.js';
import { cannotStart, needsNumpy, notHealthy, type ProcessSettings } from './process/python-process.js';
import { FromModel } from './wire/wire.js';

const SCRIPT = fileURLToPath(new URL('../../../../python/check_models.py', import.meta.url));

/** The error of an interpreter that cannot run any model. */
export class InterpreterError extends TritonError {}

/** How a step of a model's start ended. */
export interface CheckOutcome {
  /** The completed configuration as JSON, '' for an unchanged one. */
  readonly completed: string;
  /** Why a server would refuse the model, with Triton's message. */
  readonly error: TritonError | undefined;
  /** The time was over, and the process was killed. */
  readonly late: boolean;
  /** Calls that only a server can do, and that were taken as done: `is_model_ready('m')`. */
  readonly assumed: readonly string[];
}

interface Answer {
  readonly id?: number;
  readonly kind?: number;
  readonly text?: string;
  readonly problem?: string;
  readonly executable?: string;
  readonly assumed?: readonly string[];
}

interface Waiting {
  resolve(outcome: CheckOutcome): void;
  reject(error: Error): void;
  readonly instance: string;
}

const checkers = new Map<string, ModelChecker>();

/**
 * Imports a model, and lets it complete its configuration (mode `complete`), or initialises and finalises it (mode
 * `serve`). `seconds` is the time that this may take, 0 for any. Rejects with an InterpreterError when no model can be run.
 */
export function checkModel(
  interpreter: Interpreter,
  settings: ProcessSettings,
  seconds: number,
): Promise<CheckOutcome> {
  const key = JSON.stringify(interpreter);
  let checker = checkers.get(key);
  if (checker === undefined) {
    checker = new ModelChecker(interpreter);
    checkers.set(key, checker);
  }
  return checker.check(settings, seconds);
}

class ModelChecker {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  #count = 0;
  /** Why no model can be run. */
  #failure: InterpreterError | undefined;

  constructor({ command, args }: Interpreter) {
    this.#child = spawn(command, [...args, SCRIPT], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#child.on('error', (error) =>
      this.#fail(new InterpreterError('INTERNAL', cannotStart(error, command).message)),
    );
    this.#child.stdin?.on('error', () => {}); // the end of the process says more
    createInterface({ input: this.#child.stdout as NodeJS.ReadableStream }).on('line', (line) => this.#receive(line));
    this.#child.on('close', (status) => {
      this.#fail(
        new InterpreterError(
          'INTERNAL',
          `Python models need a Python interpreter, and '${command}' ended with status ${status}`,
        ),
      );
    });
    this.#hold(false);
  }

  check(settings: ProcessSettings, seconds: number): Promise<CheckOutcome> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const id = this.#count++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, instance: settings.instance });
      this.#hold(true);
      this.#child.stdin?.write(`${JSON.stringify({ id, seconds, settings })}\n`);
    });
  }

  /** The process must not keep this one alive when nothing is asked of it; it ends when this one does. */
  #hold(held: boolean): void {
    for (const handle of [this.#child, this.#child.stdin, this.#child.stdout]) {
      const counted = handle as { ref?(): void; unref?(): void } | null;
      if (held) counted?.ref?.();
      else counted?.unref?.();
    }
  }

  #receive(line: string): void {
    const { id, kind, text = '', problem, executable = '', assumed = [] } = JSON.parse(line) as Answer;
    if (problem !== undefined) {
      this.#fail(new InterpreterError('INTERNAL', needsNumpy(executable, problem)));
      return;
    }
    const waiting = id === undefined ? undefined : this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id as number);
    if (this.#waiting.size === 0) this.#hold(false);
    const succeeded = kind === FromModel.COMPLETED || kind === FromModel.READY;
    const error = kind === FromModel.FAILED ? new TritonError('INTERNAL', text) : notHealthy(waiting.instance);
    const late = kind === 0 && text === 'late';
    waiting.resolve({ completed: succeeded ? text : '', error: succeeded ? undefined : error, late, assumed });
  }

  #fail(failure: InterpreterError): void {
    this.#failure ??= failure;
    for (const { reject } of this.#waiting.values()) reject(this.#failure);
    this.#waiting.clear();
    this.#hold(false);
  }
}
