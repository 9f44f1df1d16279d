import { TritonError } from '../../../base/error.js';

/** A cancelled load that does not end by itself is left alone after so long, in ms; what it still makes is ended then. */
const PATIENCE_MS = 2000;

/** Why a load was given up before its end. */
export class LoadCancelled extends TritonError {
  /** `unloaded`: by somebody who does not want the model any more, so that its absence is not a failure. */
  constructor(
    why: string,
    readonly unloaded = false,
  ) {
    super('UNAVAILABLE', `the load was cancelled: ${why}`);
  }
}

/**
 * Waits for work that can be cancelled. When it is, the work gets a moment to end by itself; else this rejects with the
 * signal's reason, and `late` gets what the work makes in the end.
 */
export async function cancellable<T>(work: Promise<T>, signal: AbortSignal, late: (made: T) => void): Promise<T> {
  let given = false;
  let timer: NodeJS.Timeout | undefined;
  let giveUp = (): void => {};
  const cancelled = new Promise<never>((_resolve, reject) => {
    giveUp = () => {
      timer = setTimeout(() => {
        given = true;
        reject(TritonError.from(signal.reason));
      }, PATIENCE_MS);
    };
    if (signal.aborted) giveUp();
    else signal.addEventListener('abort', giveUp, { once: true });
  });
  work.then(
    (made) => given && late(made),
    // Whoever still waits gets the reason from the race; after that the cancellation is the reason.
    () => {},
  );
  try {
    return await Promise.race([work, cancelled]);
  } finally {
    signal.removeEventListener('abort', giveUp);
    clearTimeout(timer);
  }
}
