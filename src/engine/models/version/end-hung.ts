import { TritonError } from '../../../base/error.js';
import type { Log } from '../../../base/log.js';
import type { BackendInstance } from '../../../contract/backend.js';

/** How often instances are looked at, in ms. */
const LOOK_MS = 100;

/** An instance that only has requests whose clients are gone may go on so long without a sign of life, in ms. */
const ABANDONED_MS = 1000;

/**
 * Looks after instances that should end: one that does not show any sign of life for `silentMs` (0 = however long), or
 * whose clients are all gone, is ended by force. The returned function ends the looking.
 */
export function endHung(instances: () => Iterable<BackendInstance>, silentMs: number, log: Log): () => void {
  const killed = new Set<BackendInstance>();
  const look = (): void => {
    for (const instance of instances()) {
      const { silentMs: silent = 0, abandoned = false } = instance;
      const limit = abandoned ? ABANDONED_MS : silentMs === 0 ? Number.POSITIVE_INFINITY : silentMs;
      if (silent < limit || instance.kill === undefined || killed.has(instance)) continue;
      killed.add(instance);
      const why = abandoned ? 'and the clients of all its requests are gone' : 'although it should end';
      log.warning(`'${instance.name}' gave no sign of life for ${Math.round(silent / 1000)} s, ${why}: it is killed`);
      instance.kill().catch((reason: unknown) => {
        log.error(`failed to end '${instance.name}': ${TritonError.from(reason).message}`);
      });
    }
  };
  const timer = setInterval(look, LOOK_MS);
  return () => clearInterval(timer);
}
