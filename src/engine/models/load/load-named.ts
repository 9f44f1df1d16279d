/** A load call: polls the models that it names, and the members of ensembles among them, and loads what has changed. */

import { TritonError } from '../../../base/error.js';
import { ENSEMBLE_PLATFORM } from '../../../modelconfig/complete/normalize.js';
import type { LoadParameters } from '../../../protocol/management.js';
import type { ModelConfig } from '../../../protocol/proto/model-config.js';
import { writeFileOverride } from '../poll/file-override.js';
import type { ModelPlace } from '../poll/model-place.js';
import { type Polled, pollPlace } from '../poll/model-poller.js';
import { readyVersions } from '../table/find-models.js';
import type { Models } from '../table/models.js';
import { applyChange } from './apply-change.js';
import { reserveInstances } from './load-model.js';
import { isUnchanged, removeOverride } from './served-files.js';

/** One load call. */
export interface LoadCall {
  readonly names: readonly string[];
  /** For a single name only. */
  readonly parameters: LoadParameters;
  /** Names of the models that no other operation works on meanwhile. */
  readonly held: ReadonlySet<string>;
  /** Aborted when the call is given up. */
  readonly cancelled: AbortSignal;
}

/** How a load call ended. */
export interface LoadEnd {
  /** Names beyond those held that the call concerns too: nothing was done then. */
  readonly more: readonly string[];
  readonly error: TritonError | undefined;
}

/** Loads models by name, ensembles together with their members. */
export async function loadNamed(models: Models, call: LoadCall): Promise<LoadEnd> {
  const { names, parameters, cancelled } = call;
  if (cancelled.aborted) return failed(TritonError.from(cancelled.reason));
  if (parameters.files !== undefined && parameters.files.size > 0) {
    return failed(await loadFiles(models, names[0] as string, parameters, cancelled));
  }
  const { polled, missed, more } = await pollNamed(models, call);
  if (more.length > 0) return { more, error: undefined };
  const named = () => names.flatMap((name) => models.table.named(name));
  for (const entry of named()) entry.asked = true;
  if (names.length > 1) await reserve(models, polled);
  const errors = await applyChange(models, { polled, cancelled });
  const asked = new Set(named());
  const failures = [...errors].flatMap(([entry, error]) => (asked.has(entry) ? [error] : []));
  if (failures.length > 0) return failed(joined(failures));
  const [first] = missed;
  if (first !== undefined) return failed(notPolled(first));
  const empty = names.find((name) => readyVersions(models, name).length === 0);
  if (empty === undefined) return failed(undefined);
  return failed(new TritonError('INTERNAL', `failed to load '${empty}', no version is available`));
}

/** Counts the instances of all models in before the first is loaded, so that all get the same share of the cores. */
export async function reserve(models: Models, polled: readonly Polled[]): Promise<void> {
  await Promise.all(
    polled.map(({ model, place, folder }) =>
      reserveInstances(models, models.table.entryOf(place), { directory: folder, config: model.config }),
    ),
  );
}

/** What polling the models of a call found. */
interface NamedPoll {
  /** What has changed. */
  readonly polled: readonly Polled[];
  /** Names of the call for which something could not be polled. */
  readonly missed: readonly string[];
  /** Names of members that the call does not hold. */
  readonly more: readonly string[];
}

async function pollNamed(models: Models, { names, parameters, held }: LoadCall): Promise<NamedPoll> {
  const polled: Polled[] = [];
  const missed: string[] = [];
  const more: string[] = [];
  const seen = new Set<string>();
  /** Returns false when something could not be polled. */
  const visit = async (name: string, asked: boolean): Promise<boolean> => {
    if (seen.has(name)) return true;
    seen.add(name);
    if (!held.has(name)) {
      more.push(name);
      return true;
    }
    const places = await models.repositories.find(name);
    let complete = places.length > 0;
    const members: string[] = [];
    for (const place of places) {
      const look = await lookAt(models, place, asked ? parameters.config : undefined);
      if (look.polled !== undefined) polled.push({ ...look.polled, asked });
      if (look.failed) complete = false;
      members.push(...membersOf(look.config));
    }
    for (const member of members) if (!(await visit(member, false))) complete = false;
    return complete;
  };
  for (const name of names) if (!(await visit(name, true))) missed.push(name);
  return { polled, missed, more };
}

/** What a look at one model found. */
interface Look {
  /** Absent when nothing has changed, or it has a fault. */
  readonly polled: Polled | undefined;
  readonly failed: boolean;
  /** As polled now or before. */
  readonly config: ModelConfig | undefined;
}

/** Polls a model unless it serves and nothing has changed. */
async function lookAt(models: Models, place: ModelPlace, override: string | undefined): Promise<Look> {
  const { options } = models.context;
  const entry = models.table.get(place.id);
  const unchanged = await isUnchanged(entry, place, options.log);
  const serves = (entry?.record?.ready.length ?? 0) > 0;
  const config = entry?.polled?.model.config;
  if (unchanged && override === undefined && serves) return { polled: undefined, failed: false, config };
  // A later load of unchanged files keeps an override of the configuration.
  const kept = unchanged ? entry?.loadedFrom?.override : undefined;
  const polled = await pollPlace(options, place, override ?? kept);
  return { polled, failed: polled === undefined, config: polled?.model.config ?? config };
}

function membersOf(config: ModelConfig | undefined): string[] {
  if (config?.platform !== ENSEMBLE_PLATFORM) return [];
  return (config.ensemble_scheduling?.step ?? []).map(({ model_name: name }) => name);
}

/** Loads a model whose files came with the call; no repository needs to have it. */
async function loadFiles(
  models: Models,
  name: string,
  parameters: LoadParameters,
  cancelled: AbortSignal,
): Promise<TritonError | undefined> {
  const { options } = models.context;
  let directory: string;
  try {
    directory = await writeFileOverride(parameters);
  } catch (reason) {
    options.log.error(`Poll failed for model directory '${name}': ${TritonError.from(reason).message}`);
    return notPolled(name);
  }
  const [known] = models.table.named(name);
  const { id, namespace } = known ?? { id: name, namespace: '' };
  const place: ModelPlace = { id, name, namespace, directory };
  const polled = await pollPlace(options, place, parameters.config);
  let error: TritonError | undefined = notPolled(name);
  if (polled !== undefined) {
    const errors = await applyChange(models, { polled: [{ ...polled, temporary: true }], cancelled });
    error = errors.get(models.table.entryOf(place));
  }
  if (error !== undefined) await removeOverride(models, directory);
  return error;
}

function notPolled(name: string): TritonError {
  return new TritonError('INTERNAL', `failed to load '${name}', failed to poll from model repository`);
}

function failed(error: TritonError | undefined): LoadEnd {
  return { more: [], error };
}

/** Several failures of one call. */
function joined(errors: readonly TritonError[]): TritonError {
  const [first] = errors;
  if (errors.length === 1) return first as TritonError;
  return new TritonError('INVALID_ARG', errors.map(({ message }) => message).join(''));
}
