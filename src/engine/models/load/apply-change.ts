/** What a start, a poll, a load or an unload comes to: models are loaded and unloaded, and ensembles follow them. */
import { TritonError } from '../../../base/error.js';
import type { ModelConfig } from '../../../protocol/proto/model-config.js';
import type { FindMember } from '../../ensemble/member.js';
import type { Polled } from '../poll/model-poller.js';
import { unchangedVersions } from '../poll/modification-times.js';
import { checkMembers, checkPlace } from '../table/check-ensemble.js';
import type { ModelEntry } from '../table/model-entry.js';
import { requireReady } from '../table/model-record.js';
import type { Models } from '../table/models.js';
import { loadModel } from './load-model.js';
import { forget, releaseFetched, remember } from './served-files.js';

/** What is to be changed. */
export interface Change {
  /** To be loaded. */
  readonly polled?: readonly Polled[];
  /** To be taken out of service. */
  readonly gone?: readonly ModelEntry[];
  /** Aborted when the call that asked for it is given up. */
  readonly cancelled?: AbortSignal;
}

/** Why models could not be loaded. */
export type LoadErrors = ReadonlyMap<ModelEntry, TritonError>;

/**
 * Loads what was polled, takes out of service what is gone, and loads or unloads the ensembles that any of it touches.
 * Returns the errors of the models that could not be loaded.
 */
export async function applyChange(models: Models, { polled = [], gone = [], cancelled }: Change): Promise<LoadErrors> {
  const { table } = models;
  const replaced = [...gone, ...polled.map(({ place }) => table.get(place.id))].flatMap((entry) => entry?.polled ?? []);
  for (const entry of gone) table.leave(entry);
  const changed = polled.map((each) => enter(models, each));
  const touched = new Set([...changed, ...table.usersOf([...gone, ...changed])]);
  const errors = await loadTouched(models, touched, cancelled);
  for (const entry of gone) {
    if (entry.record !== undefined) models.versions.unload(entry.record);
    forget(models, entry);
  }
  for (const before of replaced) releaseFetched(models, before);
  return errors;
}

/** Enters a model that was polled. Its directory is in use from now on. */
function enter({ table }: Models, polled: Polled): ModelEntry {
  polled.place.remote?.own(polled.folder);
  return table.enter(polled);
}

/** Loads models, members before the ensembles that need them. */
async function loadTouched(
  models: Models,
  touched: ReadonlySet<ModelEntry>,
  cancelled: AbortSignal | undefined,
): Promise<LoadErrors> {
  const errors = new Map<ModelEntry, TritonError>();
  // What no member can fix is reported before the members are loaded.
  for (const entry of touched) {
    const error = entry.isEnsemble ? refusal(models, entry, checkPlace(models.table, entry)) : undefined;
    if (error !== undefined) errors.set(entry, error);
  }
  const loads = new Map<ModelEntry, Promise<void>>();
  const load = async (entry: ModelEntry): Promise<void> => {
    const members = models.table.membersOf(entry).filter((member) => touched.has(member));
    if (entry.isEnsemble) await Promise.all(members.map(loadOnce));
    const error = await loadEntry(models, entry, cancelled);
    if (error !== undefined) errors.set(entry, error);
  };
  const loadOnce = (entry: ModelEntry): Promise<void> => {
    const running = loads.get(entry) ?? (errors.has(entry) ? Promise.resolve() : load(entry));
    loads.set(entry, running);
    return running;
  };
  await Promise.all([...touched].map(loadOnce));
  return errors;
}

/** Loads one model as it was polled, an ensemble if it fits its members; returns the error that a load call for it gets. */
async function loadEntry(
  models: Models,
  entry: ModelEntry,
  cancelled: AbortSignal | undefined,
): Promise<TritonError | undefined> {
  const refused = entry.isEnsemble ? refusal(models, entry, checkMembers(models.table, entry)) : undefined;
  const { polled } = entry;
  if (refused !== undefined || polled === undefined) return refused;
  const { folder, model, times } = polled;
  const error = await loadModel(
    models,
    entry,
    {
      directory: folder,
      configProvided: model.configProvided,
      ...(isComparable(entry, polled) ? { filesUnchanged: unchangedVersions(entry.loadedFrom!.times, times) } : {}),
      ...members(models, entry, model.config),
    },
    cancelled,
  );
  if (error === undefined) remember(models, entry, polled);
  entry.loadError = error === undefined ? undefined : withoutStart(error.message, entry.id);
  return error;
}

/**
 * True when versions that serve may be kept. Those of fetched models never are: the directory that they serve from goes
 * away.
 */
function isComparable({ loadedFrom, isEnsemble }: ModelEntry, { place, temporary }: Polled): boolean {
  return place.remote === undefined && loadedFrom?.place.directory === place.directory && !temporary && !isEnsemble;
}

/** Takes an ensemble that does not fit its members out of service; returns the error that a load call for it gets. */
function refusal(models: Models, entry: ModelEntry, fault: TritonError | undefined): TritonError | undefined {
  if (fault === undefined) return undefined;
  models.context.options.log.error(fault.toStatusText());
  if (entry.record !== undefined) models.versions.unload(entry.record);
  // Looking at its files again would fix nothing: it is looked at again when its members change.
  if (entry.polled !== undefined) remember(models, entry, entry.polled);
  return new TritonError('INVALID_ARG', `load failed for model '${entry.id}': ${fault.message}\n`);
}

function withoutStart(message: string, id: string): string {
  const start = `load failed for model '${id}': `;
  return message.startsWith(start) ? message.slice(start.length).trimEnd() : message;
}

/** An ensemble's configuration with the namespaces of its members ('' without any), and how it finds them. */
function members(
  { table, context }: Models,
  entry: ModelEntry,
  config: ModelConfig,
): { config: ModelConfig; find: FindMember } {
  const byName: FindMember = (name, version) => requireReady(table.get(name)?.record, name, version);
  const scheduling = config.ensemble_scheduling;
  if (scheduling === undefined) return { config, find: byName };
  const namespaced = (namespaceOf: (member: string) => string): ModelConfig => {
    const step = scheduling.step.map((each) => ({ ...each, model_namespace: namespaceOf(each.model_name) }));
    return { ...config, ensemble_scheduling: { ...scheduling, step } };
  };
  if (context.options.modelNamespacing !== true) return { config: namespaced(() => ''), find: byName };
  const found = new Map(scheduling.step.map(({ model_name: name }) => [name, table.resolve(entry, name)] as const));
  const find: FindMember = (name, version) => requireReady((found.get(name) ?? table.get(name))?.record, name, version);
  return { config: namespaced((name) => found.get(name)?.namespace ?? ''), find };
}
