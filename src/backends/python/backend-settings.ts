import { TritonError } from '../../base/error.js';
import { RESTART_LIMIT_KEY } from './instance/restart-schedule.js';
import { FRAME_LIMITS, LONGEST_FRAME } from './wire/wire.js';

/** Key of the backend configuration that names the longest frame, in bytes. */
export const FRAME_LIMIT_KEY = 'max-frame-bytes';

/** Settings that must be whole numbers above zero, with the text of one that is not. */
const POSITIVE: Readonly<Record<string, string>> = {
  'shm-growth-byte-size': "shm-growth-byte-size can't be smaller than or equal to zero.",
  'stub-timeout-seconds': "stub-timeout-seconds can't be smaller than or equal to zero.",
  'thread-pool-size': "thread-pool-size can't be less than 1.",
};

/**
 * Checks the settings of the backend. Those of Triton have no effect here: shared memory grows by need, and its files have
 * no names. Throws INVALID_ARG with Triton's messages.
 */
export function checkBackendSettings(settings: ReadonlyMap<string, string>): void {
  for (const [key, text] of Object.entries(POSITIVE)) {
    const value = settings.get(key);
    if (value !== undefined && !(Number(value) >= 1)) throw new TritonError('INVALID_ARG', text);
  }
  const limit = settings.get(RESTART_LIMIT_KEY);
  if (limit !== undefined && !/^\d{1,9}$/.test(limit)) {
    const text = `${RESTART_LIMIT_KEY} is a whole number of starts, 0 for none: --backend-config=python,${RESTART_LIMIT_KEY}=${limit}`;
    throw new TritonError('INVALID_ARG', text);
  }
  frameLimit(settings);
  if (settings.get('shm-region-prefix-name') === '') {
    throw new TritonError('INVALID_ARG', 'shm-region-prefix-name must at least contain one character.');
  }
}

/** Bytes of the longest frame between the server and a model's process. Throws INVALID_ARG for what is not a size. */
export function frameLimit(settings: ReadonlyMap<string, string>): number {
  const text = settings.get(FRAME_LIMIT_KEY);
  if (text === undefined) return LONGEST_FRAME;
  const value = Number(text);
  if (!/^\d{1,12}$/.test(text) || value < FRAME_LIMITS.least || value > FRAME_LIMITS.most) {
    throw new TritonError(
      'INVALID_ARG',
      `${FRAME_LIMIT_KEY} is a number of bytes from ${FRAME_LIMITS.least} to ${FRAME_LIMITS.most}: ` +
        `--backend-config=python,${FRAME_LIMIT_KEY}=${text}`,
    );
  }
  return value;
}
