import { existsSync } from 'node:fs';

/** Options of a test that needs system shared memory: elsewhere than on Linux it is skipped, and says so. */
export const NEEDS_SHARED_MEMORY = {
  skip: existsSync('/dev/shm') ? false : 'no /dev/shm: system shared memory is there on Linux only',
};
