/** Release of the original whose protocol is spoken. */
export const PROTOCOL_VERSION = '2.73.0';
