import { FrameFault, type FrameReader } from '../wire/frame-reader.js';
import { type Memories, readResponse } from '../wire/tensor-codec.js';
import { Outcome } from '../wire/wire.js';
import type { OpenRequests } from './open-requests.js';

/**
 * Reads what became of each request of a batch, and answers those that are done. True when some are answered later. Throws a
 * FrameFault for bytes that say nothing of the kind.
 */
export function answerRequests(
  frame: FrameReader,
  keys: readonly number[],
  open: OpenRequests,
  memories: Memories,
): boolean {
  let answersLater = false;
  for (const key of keys) {
    const outcome = frame.u8();
    if (outcome === Outcome.RESPONSE) {
      const response = readResponse(frame, memories);
      open.take(key)?.respond(response, true);
    } else if (outcome === Outcome.OPEN) {
      answersLater = true;
    } else if (outcome === Outcome.RESCHEDULED) {
      open.take(key)?.reschedule();
    } else if (outcome === Outcome.CLOSED) {
      // A thread of the model counts its response before it sends it: the frame may still be on its way.
      if (open.get(key) !== undefined) answersLater = true;
    } else {
      throw new FrameFault(`a request has the unknown outcome ${outcome}`);
    }
  }
  return answersLater;
}
