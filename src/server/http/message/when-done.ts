import { Abandoned, inTurns, type Steps } from '../../../protocol/steps.js';
import type { Http1Reply } from '../../../transport/http1/http1-api.js';

/**
 * Does work on a message and goes on with its result: in this turn where the message is small, else in turns with
 * everything else. A client that goes away ends the work where it stands; then only `abandoned` is called, if the work
 * had taken more than one step. Whatever `use` throws goes to `fail`.
 */
// biome-ignore lint/complexity/useMaxParams: called per request, an object for it would cost.
export function whenDone<T>(
  steps: Steps<T>,
  reply: Http1Reply,
  use: (result: T) => void,
  fail: (reason: unknown) => void,
  abandoned: () => void = () => {},
): void {
  let result: T;
  try {
    const first = steps.next();
    if (!first.done) {
      inTurns(steps, () => reply.closed)
        .then(use)
        .catch((reason) => (reason instanceof Abandoned ? abandoned() : fail(reason)));
      return;
    }
    result = first.value;
  } catch (reason) {
    fail(reason);
    return;
  }
  try {
    use(result);
  } catch (reason) {
    fail(reason);
  }
}
