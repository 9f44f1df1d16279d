/**
 * Work in steps: whatever takes longer than a few milliseconds for a large message is a generator that yields after each
 * part of its work. Small messages never yield, so they stay synchronous; large ones are worked on in turns with the
 * event loop, so that no message keeps others waiting.
 */

/** Work that may be interrupted wherever it yields; a step takes about a millisecond. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Milliseconds for which all work in turns together keeps the event loop from everything else. */
const TURN_MS = 8;

/** Does the whole work now. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Thrown by `inTurns` when nobody wants the result any more: not a failure, so not a TritonError. */
export class Abandoned extends Error {}

interface Job {
  /** Works on for one step; true when nothing is left to do. */
  step(): boolean;
}

let jobs: Job[] = [];

/**
 * Works on in later turns of the event loop: all that is under way together takes at most some milliseconds of each turn,
 * one step each after the other, and those that had no step in a turn come first in the next one. Rejects with what the work throws. `unwanted` is asked before each step; once it says
 * true the work ends where it stands, and the promise rejects with `Abandoned`.
 */
export function inTurns<T>(steps: Steps<T>, unwanted: () => boolean = () => false): Promise<T> {
  return new Promise((resolve, reject) => {
    const step = (): boolean => {
      try {
        if (unwanted()) {
          // Runs the `finally` blocks of the work.
          steps.return(undefined as T);
          throw new Abandoned('nobody waits for the result');
        }
        const result = steps.next();
        if (!result.done) return false;
        resolve(result.value);
      } catch (reason) {
        reject(reason);
      }
      return true;
    };
    if (jobs.push({ step }) === 1) setImmediate(takeTurn);
  });
}

function takeTurn(): void {
  const until = performance.now() + TURN_MS;
  do {
    const round = jobs;
    jobs = [];
    let stepped = 0;
    const unfinished: Job[] = [];
    while (stepped < round.length && performance.now() < until) {
      const job = round[stepped++]!;
      if (!job.step()) unfinished.push(job);
    }
    // The cost of a round is linear in the number of jobs. What a step started is behind those that had no step yet.
    jobs = [...round.slice(stepped), ...jobs, ...unfinished];
  } while (jobs.length > 0 && performance.now() < until);
  if (jobs.length > 0) setImmediate(takeTurn);
}
