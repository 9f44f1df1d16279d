import { ENSEMBLE_PLATFORM } from '../../../modelconfig/complete/normalize.js';
import type { ModelConfig } from '../../../protocol/proto/model-config.js';
import { type ModelPlace, modelId } from '../poll/model-place.js';
import type { Polled } from '../poll/model-poller.js';
import { ModelEntry } from './model-entry.js';

/**
 * All models that the server knows, one entry for each, and which ensembles need which of them. A model is present while it
 * is in a repository, or came with a load call; relations and names are those of present models.
 */
export class ModelTable {
  readonly #entries = new Map<string, ModelEntry>();
  /** Present models by name; names stay when their last model has gone. */
  readonly #byName = new Map<string, Set<ModelEntry>>();
  /** Present ensembles. */
  readonly #ensembles = new Set<ModelEntry>();

  /** Every entry, present or not, in the order in which they were made. */
  entries(): readonly ModelEntry[] {
    return [...this.#entries.values()];
  }

  /** The models that are in a repository. */
  present(): readonly ModelEntry[] {
    return this.entries().filter(({ polled }) => polled !== undefined);
  }

  /** What is known of a model. */
  get(id: string): ModelEntry | undefined {
    return this.#entries.get(id);
  }

  /** The present models of a name: more than one only with namespaces. */
  named(name: string): readonly ModelEntry[] {
    return [...(this.#byName.get(name) ?? [])];
  }

  /** True when there is, or once was, a model of the name. */
  knows(name: string): boolean {
    return this.#byName.has(name);
  }

  /** The entry of a model, made if there is none. */
  entryOf({ id, name, namespace }: Pick<ModelPlace, 'id' | 'name' | 'namespace'>): ModelEntry {
    let entry = this.#entries.get(id);
    if (entry === undefined) {
      entry = new ModelEntry(id, name, namespace);
      this.#entries.set(id, entry);
    }
    return entry;
  }

  /** Enters a model as it was polled. Once a model was asked for by its own name it stays so while it is present. */
  enter(polled: Polled): ModelEntry {
    const entry = this.entryOf(polled.place);
    const { asked } = entry;
    this.leave(entry);
    entry.polled = polled;
    entry.members = membersOf(polled.model.config);
    entry.asked = asked || polled.asked;
    const namesakes = this.#byName.get(entry.name);
    if (namesakes === undefined) this.#byName.set(entry.name, new Set([entry]));
    else namesakes.add(entry);
    if (entry.members.length > 0) this.#ensembles.add(entry);
    return entry;
  }

  /** A model is in no repository any more. What it was loaded from and its versions stay. */
  leave(entry: ModelEntry): void {
    entry.polled = undefined;
    entry.members = [];
    entry.asked = false;
    entry.problem = undefined;
    entry.loadError = undefined;
    this.#byName.get(entry.name)?.delete(entry);
    this.#ensembles.delete(entry);
  }

  /** The model that a step of an ensemble means: in the ensemble's own namespace, else wherever there is just one. */
  resolve(ensemble: ModelEntry, name: string): ModelEntry | undefined {
    const own = this.#entries.get(modelId(ensemble.namespace, name));
    if (own?.polled !== undefined) return own;
    const [first, ...others] = this.#byName.get(name) ?? [];
    return others.length === 0 ? first : undefined;
  }

  /** The members of an ensemble that are present; none for other models. */
  membersOf(entry: ModelEntry): readonly ModelEntry[] {
    return entry.members.flatMap((name) => this.resolve(entry, name) ?? []);
  }

  /** Ensembles that need one of these models, also through other ensembles. */
  usersOf(models: Iterable<ModelEntry>): readonly ModelEntry[] {
    const users = new Set<ModelEntry>();
    const open = [...models];
    for (const model of open) {
      for (const ensemble of this.#ensembles) {
        if (users.has(ensemble) || !ensemble.members.includes(model.name)) continue;
        const own = this.#entries.get(modelId(ensemble.namespace, model.name));
        if (own?.polled !== undefined && own !== model) continue; // means another of the same name
        users.add(ensemble);
        open.push(ensemble);
      }
    }
    return [...users];
  }

  /** Names of all models that are connected with one of these names through ensembles, whichever way. */
  relatedTo(names: Iterable<string>): ReadonlySet<string> {
    const related = new Set(names);
    for (const name of related) {
      for (const { members } of this.#byName.get(name) ?? []) for (const member of members) related.add(member);
      for (const ensemble of this.#ensembles) if (ensemble.members.includes(name)) related.add(ensemble.name);
    }
    return related;
  }

  /** Members of ensembles, also of ensembles in them, that nobody asked for and nothing but these ensembles needs. */
  neededOnlyBy(models: Iterable<ModelEntry>): readonly ModelEntry[] {
    const given = new Set(models);
    const going = new Set(given);
    for (const model of going) {
      for (const member of this.membersOf(model)) {
        if (member.asked) continue;
        const users = [...this.#ensembles].filter((user) => this.membersOf(user).includes(member));
        if (users.every((user) => going.has(user))) going.add(member);
      }
    }
    return [...going].filter((model) => !given.has(model));
  }
}

/** Names of the models that an ensemble runs, each once; none for other models. */
function membersOf(config: ModelConfig): string[] {
  if (config.platform !== ENSEMBLE_PLATFORM) return [];
  return [...new Set(config.ensemble_scheduling?.step.map((step) => step.model_name))];
}
