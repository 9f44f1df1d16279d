/**
 * Imports many Python models one after another, for the checker of repositories: one Python process for each interpreter,
 * which forks for each model (python/check_models.py).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { TritonError } from '../../base/error.js';
import type { Interpreter } from './process/interpreter.js';
import { cannotStart, needsNumpy, notHealthy, type ProcessSettings } from './process/python-process.js';
import { FromModel } from './wire/wire.js';

const SCRIPT = fileURLToPath(new URL('../../../../python/check_models.py', import.meta.url));

/** A model that takes longer to be imported is given up. */
const IMPORT_LIMIT_SECONDS = 60;

/** The error of an interpreter that cannot run any model. */
export class InterpreterError extends TritonError {}

interface Answer {
  readonly id?: number;
  readonly kind?: number;
  readonly text?: string;
  readonly problem?: string;
  readonly executable?: string;
}

const checkers = new Map<string, ModelChecker>();

/**
 * Imports a model and lets it complete its configuration; resolves with that as JSON, '' for an unchanged one. Rejects with
 * Triton's message when the model's code fails, and with an InterpreterError when no model can be run.
 */
export function checkModel(interpreter: Interpreter, settings: ProcessSettings): Promise<string> {
  const key = JSON.stringify(interpreter);
  let checker = checkers.get(key);
  if (checker === undefined) {
    checker = new ModelChecker(interpreter);
    checkers.set(key, checker);
  }
  return checker.check(settings);
}

class ModelChecker {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, { resolve(text: string): void; reject(error: Error): void; instance: string }>();
  #count = 0;
  /** Why no model can be run. */
  #failure: InterpreterError | undefined;

  constructor({ command, args }: Interpreter) {
    const argv = [...args, SCRIPT, String(IMPORT_LIMIT_SECONDS)];
    this.#child = spawn(command, argv, { stdio: ['pipe', 'pipe', 'inherit'] });
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

  check(settings: ProcessSettings): Promise<string> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const id = this.#count++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, instance: settings.instance });
      this.#hold(true);
      this.#child.stdin?.write(`${JSON.stringify({ id, settings })}\n`);
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
    const { id, kind, text = '', problem, executable = '' } = JSON.parse(line) as Answer;
    if (problem !== undefined) {
      this.#fail(new InterpreterError('INTERNAL', needsNumpy(executable, problem)));
      return;
    }
    const waiting = id === undefined ? undefined : this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id as number);
    if (this.#waiting.size === 0) this.#hold(false);
    if (kind === FromModel.COMPLETED) waiting.resolve(text);
    else if (kind === FromModel.FAILED) waiting.reject(new TritonError('INTERNAL', text));
    else if (text === 'late') {
      const late = `the model is still being imported after ${IMPORT_LIMIT_SECONDS} s`;
      waiting.reject(new TritonError('INTERNAL', late));
    } else waiting.reject(notHealthy(waiting.instance));
  }

  #fail(failure: InterpreterError): void {
    this.#failure ??= failure;
    for (const { reject } of this.#waiting.values()) reject(this.#failure);
    this.#waiting.clear();
    this.#hold(false);
  }
}
