/**
 * Loaded into the server of a soak run before its own code (`node --expose-gc --import`): at SIGUSR2 it collects garbage and
 * writes what is left, in bytes, to the file that SOAK_MEMORY_FILE names.
 */
import { writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const file = process.env['SOAK_MEMORY_FILE'];
if (isMainThread && file !== undefined) {
  process.on('SIGUSR2', () => {
    globalThis.gc?.();
    const { heapUsed, external } = process.memoryUsage();
    writeFileSync(file, String(heapUsed + external));
  });
}
