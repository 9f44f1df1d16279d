/** Numbers of HTTP/2 (RFC 9113). */

export const FRAME_HEADER_SIZE = 9;

export const FrameType = {
  DATA: 0,
  HEADERS: 1,
  PRIORITY: 2,
  RST_STREAM: 3,
  SETTINGS: 4,
  PUSH_PROMISE: 5,
  PING: 6,
  GOAWAY: 7,
  WINDOW_UPDATE: 8,
  CONTINUATION: 9,
} as const;

export const Flag = { END_STREAM: 0x1, ACK: 0x1, END_HEADERS: 0x4, PADDED: 0x8, PRIORITY: 0x20 } as const;

export const Setting = {
  HEADER_TABLE_SIZE: 1,
  ENABLE_PUSH: 2,
  MAX_CONCURRENT_STREAMS: 3,
  INITIAL_WINDOW_SIZE: 4,
  MAX_FRAME_SIZE: 5,
  MAX_HEADER_LIST_SIZE: 6,
} as const;

/** Error codes of RST_STREAM and GOAWAY. */
export const Http2Error = {
  NO_ERROR: 0,
  PROTOCOL_ERROR: 1,
  INTERNAL_ERROR: 2,
  FLOW_CONTROL_ERROR: 3,
  SETTINGS_TIMEOUT: 4,
  STREAM_CLOSED: 5,
  FRAME_SIZE_ERROR: 6,
  REFUSED_STREAM: 7,
  CANCEL: 8,
  COMPRESSION_ERROR: 9,
  CONNECT_ERROR: 10,
  ENHANCE_YOUR_CALM: 11,
} as const;

/** Value of an error code. */
export type Http2ErrorCode = (typeof Http2Error)[keyof typeof Http2Error];

/** What a client sends first. */
export const PREFACE: Uint8Array = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

/** Window and frame sizes that hold until settings say otherwise. */
export const INITIAL_WINDOW = 65_535;
export const MIN_FRAME_SIZE = 16_384;
export const MAX_FRAME_SIZE = 16_777_215;
/** Largest stream number: "all of them" in a GOAWAY. */
export const MAX_STREAM_ID = 0x7fff_ffff;
export const MAX_WINDOW = 2_147_483_647;
