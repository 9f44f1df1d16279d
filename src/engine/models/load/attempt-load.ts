import { TritonError } from '../../../base/error.js';
import type { ModelEntry } from '../table/model-entry.js';
import { type ModelRecord, UNLOADED } from '../table/model-record.js';
import type { Models } from '../table/models.js';
import type { CancellableRequest } from '../table/running-load.js';
import { cancellable, LoadCancelled } from '../version/load-cancelled.js';
import { countInstances, loadVersion } from '../version/load-version.js';
import type { LoadedModel } from '../version/loaded-model.js';

/** What became of loading one version: the model, or why there is none. */
export interface Attempt {
  readonly version: string;
  readonly model: LoadedModel | undefined;
  readonly error: TritonError | undefined;
}

/** One version of a load. */
type VersionLoad = CancellableRequest & { readonly version: string };

/** Loads one version when there is a free slot for it, again where that fails and the options say so. Never rejects. */
export async function attemptLoad(
  models: Models,
  entry: ModelEntry,
  record: ModelRecord,
  load: VersionLoad,
): Promise<Attempt> {
  const { version, cancelled } = load;
  const { log } = models.context.options;
  const state = record.version(version);
  if (state.state !== 'READY') state.set('LOADING');
  log.info(`loading: ${entry.id}:${version}`);
  let result: LoadedModel | TritonError;
  try {
    result = await models.loadSlots.run(() => tryUntilLoaded(models, entry, record, load), cancelled);
  } catch (reason) {
    result = TritonError.from(reason); // given up while it waited
  }
  if (!(result instanceof TritonError)) return { version, model: result, error: undefined };
  const reason = result instanceof LoadCancelled && result.unloaded ? UNLOADED : result.toStatusText();
  if (state.state !== 'READY') state.set('UNAVAILABLE', reason);
  return { version, model: undefined, error: result };
}

async function tryUntilLoaded(
  models: Models,
  entry: ModelEntry,
  record: ModelRecord,
  load: VersionLoad,
): Promise<LoadedModel | TritonError> {
  const { version, cancelled } = load;
  const { log, modelLoadRetries } = models.context.options;
  for (let retries = modelLoadRetries ?? 0; ; retries--) {
    try {
      cancelled.throwIfAborted();
      // When that is cancelled and does not end soon, what comes of it in the end is ended at once.
      const late = (model: LoadedModel): void => models.versions.end(record, model);
      return await cancellable(loadOnce(models, entry, record, load), cancelled, late);
    } catch (reason) {
      const error = TritonError.from(cancelled.aborted ? cancelled.reason : reason);
      log.error(`failed to load '${entry.id}' version ${version}: ${error.toStatusText()}`);
      if (retries <= 0 || cancelled.aborted) return error;
    }
  }
}

async function loadOnce(
  { context, versions }: Models,
  entry: ModelEntry,
  record: ModelRecord,
  load: VersionLoad,
): Promise<LoadedModel> {
  const { threads } = context;
  const instances = await countInstances(context, load.config);
  // Instances of models loaded at start are reserved before the first load, so that all get the same share.
  if (!entry.reserved.delete(load.version)) threads.reserve(instances);
  try {
    const { directory, version, config, configProvided, find, cancelled } = load;
    const { counters } = record.version(version);
    const model = await loadVersion(context, { directory, version, config, configProvided, counters, find, cancelled });
    model.instanceCount = instances;
    versions.add();
    return model;
  } catch (reason) {
    threads.release(instances);
    throw reason;
  }
}
