import type { RequestTrace } from '../../contract/request-trace.js';

/** What a front end reports of a traced request, by name of the event as it stands in the file. */
export type FrontEvent =
  | 'HTTP_RECV_START'
  | 'HTTP_RECV_END'
  | 'HTTP_SEND_START'
  | 'HTTP_SEND_END'
  | 'GRPC_WAITREAD_START'
  | 'GRPC_WAITREAD_END'
  | 'GRPC_SEND_START'
  | 'GRPC_SEND_END'
  | 'INFER_RESPONSE_COMPLETE';

/** A traced request as its front end sees it. It is complete when the front end and the engine have ended it. */
export interface FrontTrace {
  /** Goes with the request into the engine. */
  readonly request: RequestTrace;
  /** Times are ns of base/clock.ts. */
  event(name: FrontEvent, ns: number): void;
  /** Like `event`, but stands behind everything that the engine reports. */
  lateEvent(name: FrontEvent, ns: number): void;
  /** The response was sent, or there is none. Once only. */
  end(): void;
}
