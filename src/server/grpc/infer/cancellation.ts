import type { ServerLog } from '../../log/server-log.js';
import { afterDelay, type GrpcDelays } from './test-delays.js';

/** The handlers of inference, as Triton's verbose records call them. */
export type HandlerName = 'ModelInferHandler' | 'ModelStreamInferHandler';

/** How calls of one method hear that their client has cancelled, or gone. */
export class Cancellation {
  readonly #log: ServerLog;
  readonly #delays: GrpcDelays | undefined;
  readonly #handler: HandlerName;

  constructor(log: ServerLog, delays: GrpcDelays | undefined, handler: HandlerName) {
    this.#log = log;
    this.#delays = delays;
    this.#handler = handler;
  }

  /** The client has gone: reported, then handled. `step`: how far the request is. */
  receive(step: 'START' | 'ISSUED', handle: () => void): void {
    afterDelay(this.#delays?.notification ?? 0, this.#log, 'the notification', () => {
      if (this.#log.isVerbose(1)) this.#log.verbose(1, cancellationText(this.#handler, step));
      handle();
    });
  }
}

/** In Triton's release builds contexts and states of calls have no numbers. */
function cancellationText(handler: HandlerName, step: string): string {
  return `Cancellation notification received for ${handler}, rpc_ok=1, context 0 step START, state 0 step ${step}`;
}
