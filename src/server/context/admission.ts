import { TritonError } from '../../base/error.js';
import type { ReadyModel } from '../../contract/engine.js';
import type { InferenceRequest } from '../../contract/request.js';
import { STOPPING_TEXT } from '../../engine/schedule/scheduler.js';
import { requestPrefix } from '../../protocol/infer/request-prefix.js';

/**
 * Which inference requests of gRPC clients are taken. While the server stops and requests are in flight, these clients may
 * connect and send, and get Triton's error for new work. (HTTP takes no connections then, and a response ends a connection.)
 */
export class Admission {
  #stopping = false;

  /** Only sequences that have begun are served from now on. */
  stop(): void {
    this.#stopping = true;
  }

  /** Throws UNAVAILABLE for a request that comes too late. The schedulers of sequences know themselves which have begun. */
  check({ name, config }: ReadyModel, request: InferenceRequest): void {
    if (!this.#stopping || config.sequence_batching !== undefined) return;
    const text = `${requestPrefix(request.id)}${STOPPING_TEXT}`;
    // An ensemble's own requests are refused by the first of its members.
    if (config.ensemble_scheduling === undefined) throw new TritonError('UNAVAILABLE', text);
    const continues = request.correlationId !== 0n && request.correlationId !== '' && !request.sequenceStart;
    if (!continues) throw new TritonError('UNAVAILABLE', `in ensemble '${name}', ${text}`);
  }
}
