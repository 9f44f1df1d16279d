/** Loads what the repositories hold, and follows what changes in them. */
import { TritonError } from '../../../base/error.js';
import { pollPlace } from '../poll/model-poller.js';
import type { ModelEntry } from '../table/model-entry.js';
import type { Models } from '../table/models.js';
import { LoadCancelled } from '../version/load-cancelled.js';
import { applyChange } from './apply-change.js';
import { reserve } from './load-named.js';
import { isOutdated, isUnchanged } from './served-files.js';

/** A load goes on for so long, in ms, when another one of the same model with other files or another configuration came. */
const OUTDATED_LOAD_MS = 5000;

/** Loads everything that the repositories hold. Returns false when anything could not be polled or loaded. */
export async function loadAll(models: Models): Promise<boolean> {
  const { places, complete } = await models.repositories.list();
  const polled = await Promise.all(places.map((place) => pollPlace(models.context.options, place, undefined)));
  const good = polled.filter((each) => each !== undefined);
  await reserve(models, good);
  const errors = await applyChange(models, { polled: good });
  return complete && good.length === places.length && errors.size === 0;
}

/**
 * Looks at the repositories and follows what has changed in them: loads what is new, loads again what was touched or
 * failed before, takes out of service what is gone. Faults are logged; whatever served before then serves on.
 */
export async function followRepositories(models: Models): Promise<void> {
  const { repositories, table, context } = models;
  const { options } = context;
  try {
    const { places } = await repositories.list();
    const there = new Set(places.map(({ id }) => id));
    const gone = table.present().filter(({ id }) => !there.has(id));
    const polled = await Promise.all(
      places.map(async (place) =>
        (await isUnchanged(table.get(place.id), place, options.log))
          ? undefined
          : await pollPlace(options, place, undefined),
      ),
    );
    await applyChange(models, { polled: polled.filter((each) => each !== undefined), gone });
  } catch (reason) {
    const { codeText, message } = TritonError.from(reason);
    options.log.error(`failed to poll model repository: ${codeText} - ${message}`);
  }
}

/** Gives up the loads of a model that are on their way, if its files have changed since, or `replaced` says so. */
export async function cancelOutdated({ context }: Models, entry: ModelEntry, replaced: boolean): Promise<void> {
  const before = [...entry.loads];
  if (before.length === 0 || (!replaced && !(await isOutdated(entry, context.options.log)))) return;
  const reason = new LoadCancelled('its files or its configuration have been replaced');
  // Those that have ended while the files were looked at must not get a timer any more.
  for (const load of before) if (entry.loads.has(load)) load.cancelAfter(OUTDATED_LOAD_MS, reason);
}
