/** Starts programs that run a model's code, each in a process group of its own, and ends them with all they started. */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { atProcessEnd } from '../../../base/process-end.js';
import { dismissGuard, guardGroup, unguardGroup } from './group-guard.js';
import { GROUP_VARIABLE, killAllTagged, killTagged, newTag } from './group-tag.js';

/** What a model started may end by itself for so long after SIGTERM, in ms, once its first process is gone. */
const GRACE_MS = 1000;

/** How often is looked whether a group is gone, in ms. */
const LOOK_MS = 20;

/** Looks for processes that have left the group; each finds what the ones before it started meanwhile. */
const SWEEPS = 5;

/** Groups that may have processes. */
const running = new Set<ProcessGroup>();
let forgetCleanUp: (() => void) | undefined;

/** A program and everything that it started. */
export class ProcessGroup {
  readonly child: ChildProcess;
  /** Resolves when the program itself has ended, with the error where it could not be started. */
  readonly exited: Promise<Error | undefined>;
  /** Resolves when what it started is gone too. */
  readonly gone: Promise<void>;
  readonly #tag = newTag();
  #killed = false;
  /** The program has ended, and nobody is left in its group: the system may give its id to somebody else. */
  #empty = false;

  /** Throws the system's error when the program cannot be started at all; `exited` has that of one that is not there. */
  constructor(command: string, args: readonly string[], stdio: StdioOptions) {
    this.child = spawn(command, args, {
      stdio,
      // A session of its own: the terminal's signals do not reach it, and its id is that of its group.
      detached: process.platform !== 'win32',
      env: { ...process.env, [GROUP_VARIABLE]: this.#tag },
    });
    const { pid } = this.child;
    if (pid !== undefined) {
      running.add(this);
      forgetCleanUp ??= atProcessEnd(killAll);
      guardGroup(pid);
    }
    this.exited = new Promise((resolve) => {
      let error: Error | undefined;
      this.child.once('error', (reason) => {
        error = reason;
        if (pid === undefined) resolve(error);
      });
      this.child.once('exit', () => resolve(error));
    });
    this.gone = this.exited.then(() => this.#endRest());
  }

  /** Kills the program and what it started at once. */
  kill(): void {
    this.#killed = true;
    this.#signal('SIGKILL');
  }

  /** The program has ended: ends what it left behind, politely at first. */
  async #endRest(): Promise<void> {
    const { pid } = this.child;
    if (pid === undefined) return;
    if (!this.#killed && this.#signal('SIGTERM')) {
      const end = performance.now() + GRACE_MS;
      while (this.#signal(0) && !this.#killed && performance.now() < end) await delay(LOOK_MS);
    }
    this.#signal('SIGKILL');
    for (let sweep = 0; sweep < SWEEPS; sweep++) {
      if ((await killTagged(this.#tag)) === 0) break;
      // Killed processes are there until their parent has seen it.
      await delay(LOOK_MS);
    }
    this.#empty = true;
    running.delete(this);
    unguardGroup(pid);
    if (running.size > 0) return;
    forgetCleanUp?.();
    forgetCleanUp = undefined;
  }

  /** Sends a signal to every process of the group; false when there is none. */
  #signal(signal: NodeJS.Signals | 0): boolean {
    const { pid, exitCode, signalCode } = this.child;
    if (pid === undefined || this.#empty) return false;
    const ended = exitCode !== null || signalCode !== null;
    if (process.platform === 'win32') return !ended && this.child.kill(signal);
    try {
      process.kill(-pid, signal);
      return true;
    } catch {
      this.#empty = ended; // ESRCH: nobody is left
      return false;
    }
  }
}

function killAll(): void {
  if (running.size === 0) return;
  for (const group of running) group.kill();
  killAllTagged();
  dismissGuard();
}
