import { TritonError } from '../../protocol/error.js';
import { RESTART_LIMIT_KEY } from './restart-schedule.js';

/** Settings that must be whole numbers above zero, with the text of one that is not. */
const POSITIVE: Readonly<Record<string, string>> = {
  'shm-growth-byte-size': "shm-growth-byte-size can't be smaller than or equal to zero.",
  'stub-timeout-seconds': "stub-timeout-seconds can't be smaller than or equal to zero.",
  'thread-pool-size': "thread-pool-size can't be less than 1.",
};

/**
 * Checks the settings of the backend. The original's have no effect here: shared memory grows by need, and its files have
 * no names. Throws INVALID_ARG with the original's texts.
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
  if (settings.get('shm-region-prefix-name') === '') {
    throw new TritonError('INVALID_ARG', 'shm-region-prefix-name must at least contain one character.');
  }
}
