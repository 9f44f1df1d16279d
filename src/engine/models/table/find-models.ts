/** What requests and management calls ask about the models of a name. */
import { invalidArg, TritonError } from '../../../base/error.js';
import type { IndexEntry } from '../../../protocol/management.js';
import type { LoadedModel } from '../version/loaded-model.js';
import type { ModelRecord } from './model-record.js';
import type { Models } from './models.js';

const DUPLICATE_REASON = 'model appears in two or more repositories';

/**
 * What is known of the model of a name; undefined when it was never loaded. With namespaces it throws for a name that is
 * not there exactly once.
 */
export function findRecord({ table, context }: Models, name: string): ModelRecord | undefined {
  if (context.options.modelNamespacing !== true) return table.get(name)?.record;
  const [model, ...others] = table.named(name);
  if (others.length > 0) {
    throw new TritonError(
      'INVALID_ARG',
      `There are ${1 + others.length} identifiers of model '${name}' in global map, model namespace must be provided to resolve ambiguity.`,
    );
  }
  if (model !== undefined) return model.record;
  if (table.knows(name)) {
    throw new TritonError('NOT_FOUND', `Identifier of model '${name}' is not found in global map`);
  }
  throw new TritonError('INVALID_ARG', `Request for unknown model: '${name}' is not found`);
}

/** False with namespaces for a name that is not there exactly once. */
export function isUnambiguous({ table, context }: Models, name: string): boolean {
  return context.options.modelNamespacing !== true || table.named(name).length === 1;
}

/** Version numbers, in decimal, of all models of a name that serve. */
export function readyVersions({ table, context }: Models, name: string): string[] {
  const entries = context.options.modelNamespacing === true ? table.named(name) : [table.get(name)];
  return entries.flatMap((entry) => entry?.record?.ready.map(({ version }) => version) ?? []);
}

/**
 * The READY versions that a statistics call for one model means (`version` '' = all). Throws INVALID_ARG when none of them
 * serves.
 */
export function countedVersions(models: Models, name: string, version: string): readonly LoadedModel[] {
  const ready = isUnambiguous(models, name) ? (findRecord(models, name)?.ready ?? []) : [];
  if (ready.length === 0) throw invalidArg(`requested model '${name}' is not available`);
  if (version === '') return ready;
  const found = ready.filter((model) => model.version === version);
  if (found.length === 0) throw invalidArg(`requested model version is not available for model '${name}'`);
  return found;
}

/** Lists the models of the repositories with what is known of each version. Throws when a repository cannot be listed. */
export async function listModels({ repositories, table }: Models, onlyReady: boolean): Promise<IndexEntry[]> {
  const entries: IndexEntry[] = [];
  for (const { id, name, many } of await repositories.names()) {
    const record = table.get(id)?.record;
    if (many > 1) {
      entries.push({ name, state: 'UNAVAILABLE', reason: DUPLICATE_REASON });
    } else if (record === undefined) {
      if (!onlyReady) entries.push({ name });
    } else {
      for (const { version, state, reason } of record.versions) {
        if (onlyReady && state !== 'READY') continue;
        entries.push({ name, version, state, ...(reason === '' ? {} : { reason }) });
      }
    }
  }
  return entries;
}
