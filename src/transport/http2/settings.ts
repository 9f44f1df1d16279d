import { Http2Error, type Http2ErrorCode, MAX_FRAME_SIZE, MAX_WINDOW, MIN_FRAME_SIZE, Setting } from './protocol.js';

/** Payload of a SETTINGS frame. */
export function encodeSettings(settings: readonly (readonly [id: number, value: number])[]): Uint8Array {
  const payload = Buffer.allocUnsafe(settings.length * 6);
  settings.forEach(([id, value], i) => {
    payload.writeUInt16BE(id, i * 6);
    payload.writeUInt32BE(value, i * 6 + 2);
  });
  return payload;
}

/** Checks one setting that a client sent (RFC 9113, section 6.5.2); undefined if it is fine. */
export function checkSetting(id: number, value: number): Http2ErrorCode | undefined {
  switch (id) {
    case Setting.ENABLE_PUSH:
      return value > 1 ? Http2Error.PROTOCOL_ERROR : undefined;
    case Setting.INITIAL_WINDOW_SIZE:
      return value > MAX_WINDOW ? Http2Error.FLOW_CONTROL_ERROR : undefined;
    case Setting.MAX_FRAME_SIZE:
      return value < MIN_FRAME_SIZE || value > MAX_FRAME_SIZE ? Http2Error.PROTOCOL_ERROR : undefined;
    default:
      return undefined;
  }
}
