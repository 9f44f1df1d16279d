/** Loading a model: all versions that its policy selects, so that either all of them serve or nothing changes. */
import { TritonError } from '../../../base/error.js';
import { selectVersions } from '../../../repository/load/versions.js';
import type { ModelEntry } from '../table/model-entry.js';
import { ModelRecord } from '../table/model-record.js';
import type { Models } from '../table/models.js';
import { type CancellableRequest, type LoadRequest, RunningLoad } from '../table/running-load.js';
import { countInstances } from '../version/load-version.js';
import type { LoadedModel } from '../version/loaded-model.js';
import { updatableInPlace, updateInstances } from '../version/update-instances.js';
import { type Attempt, attemptLoad } from './attempt-load.js';

/**
 * Loads the versions that the policy selects. Returns the error that the load ends with (INVALID_ARG
 * `load failed for model ...`); the versions that served before then serve on. `call`: aborted when it is given up.
 */
export async function loadModel(
  models: Models,
  entry: ModelEntry,
  request: LoadRequest,
  call: AbortSignal | undefined,
): Promise<TritonError | undefined> {
  const running = new RunningLoad(call);
  entry.loads.add(running);
  if (models.stopped !== undefined) running.cancel(models.stopped);
  try {
    return await loadVersions(models, entry, { ...request, cancelled: running.cancelled });
  } catch (reason) {
    return TritonError.from(reason);
  } finally {
    running.end();
    entry.loads.delete(running);
  }
}

/** Counts the instances of a model in before any of its versions is loaded. */
export async function reserveInstances(
  { context }: Models,
  entry: ModelEntry,
  { directory, config }: Pick<LoadRequest, 'directory' | 'config'>,
): Promise<void> {
  const { versions } = await selectVersions(directory, config);
  const instances = await countInstances(context, config);
  for (const version of versions) {
    entry.reserved.add(version);
    context.threads.reserve(instances);
  }
}

async function loadVersions(
  models: Models,
  entry: ModelEntry,
  request: CancellableRequest,
): Promise<TritonError | undefined> {
  const { log } = models.context.options;
  const { id, name, namespace } = entry;
  const selection = await selectVersions(request.directory, request.config);
  for (const { message } of selection.ignored) log.warning(message);
  for (const { message } of selection.missing) log.error(message);
  entry.record ??= new ModelRecord(id, name, namespace);
  const { record } = entry;
  if (selection.error !== undefined) {
    const { code, message } = selection.error;
    log.error(`failed to load model '${id}': ${message}`);
    return new TritonError(code, `load failed for model '${id}': ${message}\n`);
  }
  const kept = keptVersions(record, request, selection.versions);
  const updates: Promise<string | undefined>[] = [];
  const loads: Promise<Attempt>[] = [];
  for (const version of selection.versions) {
    const model = kept.get(version);
    if (model === undefined) loads.push(attemptLoad(models, entry, record, { ...request, version }));
    else updates.push(updateVersion(models, record, request, model));
  }
  const results = await Promise.all(loads);
  const notUpdated = (await Promise.all(updates)).filter((text) => text !== undefined);
  const failed = results.filter(({ error }) => error !== undefined);
  if (failed.length > 0 || notUpdated.length > 0) {
    for (const { version, model } of results) {
      if (model !== undefined) models.versions.discard(record, record.version(version), model);
    }
    log.info(`failed to load '${id}'`);
    record.refresh();
    const texts = failed.map((f) => `version ${f.version} is at UNAVAILABLE state: ${f.error!.toStatusText()};`);
    return new TritonError('INVALID_ARG', `load failed for model '${id}': ${[...notUpdated, ...texts].join('')}\n`);
  }
  swap(models, record, results, kept);
  log.info(`successfully loaded '${id}'`);
  return undefined;
}

/** READY versions that need not be loaded again: nothing but the version policy and the instances changed. */
function keptVersions(
  record: ModelRecord,
  request: LoadRequest,
  versions: readonly string[],
): ReadonlyMap<string, LoadedModel> {
  const kept = new Map<string, LoadedModel>();
  for (const model of record.ready) {
    const { version } = model;
    if (!versions.includes(version) || request.filesUnchanged?.(version) !== true) continue;
    if (updatableInPlace(model, request.config)) kept.set(version, model);
  }
  return kept;
}

/** Updates a version that serves on; returns what the load's error says of it when that fails. */
async function updateVersion(
  { context }: Models,
  record: ModelRecord,
  { directory, config, cancelled }: CancellableRequest,
  model: LoadedModel,
): Promise<string | undefined> {
  const { version } = model;
  context.options.log.info(`loading: ${record.id}:${version}`);
  const state = record.version(version);
  try {
    await updateInstances(context, model, { directory, config, cancelled });
  } catch (reason) {
    state.set('READY', TritonError.from(reason).toStatusText());
    return `version ${version} is at READY state: ${state.reason};`;
  }
  state.set('READY');
  return undefined;
}

/** The versions that were loaded serve from now on, and of the others only those that are kept. */
function swap(
  { versions }: Models,
  record: ModelRecord,
  results: readonly Attempt[],
  kept: ReadonlyMap<string, LoadedModel>,
): void {
  const replaced: LoadedModel[] = [];
  for (const { version, model } of results) {
    const state = record.version(version);
    if (state.model !== undefined) replaced.push(state.model);
    state.model = model;
    state.set('READY');
  }
  const loaded = new Set(results.map(({ version }) => version));
  for (const other of record.versions) {
    const { version, state, model } = other;
    if (state === 'READY' && model !== undefined && !loaded.has(version) && !kept.has(version)) {
      versions.retire(record, other, model);
    }
  }
  record.refresh();
  for (const model of replaced) versions.end(record, model);
}
