import type { Http2ErrorCode } from './protocol.js';

/** A connection error (RFC 9113, section 5.4.1), on its way to the GOAWAY. */
export class ConnectionFault extends Error {
  readonly code: Http2ErrorCode;

  constructor(code: Http2ErrorCode, reason: string) {
    super(reason);
    this.code = code;
  }
}

/** Ends the connection. */
export function failConnection(code: Http2ErrorCode, reason: string): never {
  throw new ConnectionFault(code, reason);
}
