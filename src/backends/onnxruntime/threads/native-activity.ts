import { hindersExit } from '../../../base/process-end.js';

/**
 * How many threads are inside native code that must not be interrupted: ending the process or a worker thread in the
 * ordinary way meanwhile aborts the whole process, so the way out asks here first.
 */
let active = 0;
hindersExit(() => active > 0);

/** Counts one thread in; the returned function counts it out (once). */
export function enterNative(): () => void {
  active++;
  let left = false;
  return () => {
    if (left) return;
    left = true;
    active--;
  };
}
