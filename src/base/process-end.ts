/**
 * The one registry of what has to happen before this process ends, whichever way it ends: return of the program, an
 * exception that nobody caught, a signal, or SIGKILL to itself. Only SIGKILL from outside skips it.
 */
const cleanUps = new Set<() => void>();
/** Predicates that are true while an ordinary exit would abort the process. */
const hindrances = new Set<() => boolean>();
let watching = false;

/**
 * Registers a clean-up, which must be synchronous and short: removing directories, killing processes. The latest one runs
 * first. The returned function takes it back, once what it cleans up is gone.
 */
export function atProcessEnd(cleanUp: () => void): () => void {
  if (!watching) {
    watching = true;
    // Before other listeners, which may look at what is left.
    process.prependListener('exit', cleanUpNow);
  }
  // An own object, so that one function may be registered twice.
  const entry = (): void => cleanUp();
  cleanUps.add(entry);
  return () => void cleanUps.delete(entry);
}

/** Runs every clean-up, each once; one that fails is reported and does not keep the others from running. */
function cleanUpNow(): void {
  for (const cleanUp of [...cleanUps].reverse()) {
    cleanUps.delete(cleanUp);
    try {
      cleanUp();
    } catch (reason) {
      reportFailure(reason);
    }
  }
}

/** Names a condition under which an ordinary exit aborts the process, so that it has to end by a signal meanwhile. */
export function hindersExit(condition: () => boolean): void {
  hindrances.add(condition);
}

/** True while an ordinary exit would abort the process. */
export function exitIsHindered(): boolean {
  return [...hindrances].some((condition) => condition());
}

/** Ends the process at once after the clean-ups: by exit with this status, or by SIGKILL where an exit would abort it. */
export function endNow(status: number): never {
  cleanUpNow();
  if (exitIsHindered()) process.kill(process.pid, 'SIGKILL');
  process.exit(status);
}

/** Ends the process at once after the clean-ups, by a signal that whoever started it then sees as the cause. */
export function endBySignal(name: NodeJS.Signals): never {
  cleanUpNow();
  process.removeAllListeners(name);
  process.kill(process.pid, name);
  // Only reached where the signal is blocked or ignored.
  process.kill(process.pid, 'SIGKILL');
  throw new Error('unreachable: the process was killed');
}

function reportFailure(reason: unknown): void {
  try {
    process.stderr.write(`a clean-up at the end of the process failed: ${String(reason)}\n`);
  } catch {
    // The error stream is gone too: nobody can be informed.
  }
}
