import { ENSEMBLE_PLATFORM } from '../../modelconfig/complete/normalize.js';
import { TritonError } from '../../protocol/error.js';
import type { IndexEntry, LoadParameters } from '../../protocol/management.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import type { FindMember } from '../ensemble/member.js';
import type { EngineOptions } from '../options/engine-options.js';
import { requireReady } from './find-ready.js';
import { ModelGraph } from './model-graph.js';
import { type EngineContext, ModelLifecycle } from './model-lifecycle.js';
import type { ModelRecord } from './model-record.js';
import { writeFileOverride } from './poll/file-override.js';
import type { ModelPlace } from './poll/model-place.js';
import { type Polled, pollPlace } from './poll/model-poller.js';
import { unchangedVersions } from './poll/modification-times.js';
import { Repositories } from './poll/repositories.js';
import { PolledModels } from './polled-models.js';
import { LoadCancelled } from './version/load-cancelled.js';

/** A load goes on for so long, in ms, when another one of the same model with other files or another configuration came. */
const OUTDATED_LOAD_MS = 5000;

/** Stands for all models where operations wait for each other; no model is called so. */
const ANY_MODEL = '*';

const DUPLICATE_REASON = 'model appears in two or more repositories';

/** Finds, polls, loads and unloads models by name, keeps ensembles and their members together, and lists all. */
export class ModelManager {
  readonly lifecycle: ModelLifecycle;
  readonly #options: EngineOptions;
  readonly #repositories: Repositories;
  readonly #graph: ModelGraph;
  readonly #polled: PolledModels;
  /** By name: the last operation on models that are called so or that ensembles connect with them. */
  readonly #operations = new Map<string, Promise<unknown>>();
  /** By name: what gives up the load calls for a model, also those that wait for their turn. */
  readonly #loads = new Map<string, Set<AbortController>>();

  private constructor(context: EngineContext, repositories: Repositories) {
    this.#options = context.options;
    this.#repositories = repositories;
    this.lifecycle = new ModelLifecycle(context);
    this.#graph = new ModelGraph(this.lifecycle.records);
    this.#polled = new PolledModels(context.options.log, () => this.lifecycle.settled());
  }

  /** Throws when a repository is no directory that can be listed. */
  static async create(context: EngineContext): Promise<ModelManager> {
    return new ModelManager(context, await Repositories.open(context.options));
  }

  /** Loads everything that the repositories hold. Returns false when anything could not be polled or loaded. */
  async loadAll(): Promise<boolean> {
    const { places, complete } = await this.#repositories.list();
    const polled = await Promise.all(places.map((place) => pollPlace(this.#options, place, undefined)));
    const good = polled.filter((entry) => entry !== undefined);
    await this.#reserve(good);
    const errors = await this.#change(good, []);
    return complete && good.length === places.length && errors.size === 0;
  }

  /**
   * Looks at the repositories and follows what has changed in them: loads what is new, loads anew what was touched or
   * failed before, takes out of service what is gone. Faults are logged; whatever served before then serves on.
   */
  poll(): Promise<void> {
    return this.#exclusive([ANY_MODEL], () => this.#poll());
  }

  async #poll(): Promise<void> {
    try {
      const { places } = await this.#repositories.list();
      const there = new Set(places.map(({ id }) => id));
      const gone = this.#graph.places().filter(({ id }) => !there.has(id));
      const changed = await Promise.all(
        places.map(async (place) =>
          (await this.#polled.isUnchanged(place)) ? undefined : await pollPlace(this.#options, place, undefined),
        ),
      );
      await this.#change(
        changed.filter((entry) => entry !== undefined),
        gone,
      );
    } catch (reason) {
      const { codeText, message } = TritonError.from(reason);
      this.#options.log.error(`failed to poll model repository: ${codeText} - ${message}`);
    }
  }

  /**
   * Loads models by name, ensembles together with their members; `parameters` only for a single one. Throws the server's
   * errors (spec: model repository, section 8.3).
   */
  async load(names: readonly string[], parameters: LoadParameters = {}): Promise<void> {
    const controller = new AbortController();
    for (const name of names) this.#loads.set(name, (this.#loads.get(name) ?? new Set()).add(controller));
    const replaces = parameters.config !== undefined || (parameters.files?.size ?? 0) > 0;
    for (const name of names) for (const place of this.#graph.named(name)) void this.#cancelOutdated(place, replaces);
    try {
      let held = this.#graph.relatedTo(names);
      for (;;) {
        const more = await this.#exclusive(held, () => this.#load(names, parameters, held, controller.signal));
        if (more.length === 0) return;
        held = this.#graph.relatedTo([...held, ...more]);
      }
    } finally {
      for (const name of names) {
        const loads = this.#loads.get(name);
        loads?.delete(controller);
        if (loads?.size === 0) this.#loads.delete(name);
      }
    }
  }

  /** Gives up loads that hang on files which have been changed since; for the time while a poll waits for them. */
  async cancelOutdatedLoads(): Promise<void> {
    for (const place of this.#graph.places()) await this.#cancelOutdated(place, false);
  }

  /** Gives up the loads of a model that are on their way, if its files have changed since, or `replaced` says so. */
  async #cancelOutdated(place: ModelPlace, replaced: boolean): Promise<void> {
    const before = this.lifecycle.loadsOf(place.id);
    if (before.length === 0 || (!replaced && !(await this.#polled.isOutdated(place.id)))) return;
    const reason = new LoadCancelled('its files or its configuration have been replaced');
    // Those that have ended while the files were looked at must not get a timer any more.
    const now = this.lifecycle.loadsOf(place.id);
    for (const load of before) if (now.includes(load)) load.cancelAfter(OUTDATED_LOAD_MS, reason);
  }

  /**
   * Takes the models of a name out of service, and the ensembles that need them; unknown names are no error. Loads of the
   * models that are on their way are given up.
   * `withMembers`: also the members of ensembles that serve just because of them.
   */
  unload(name: string, withMembers = false): Promise<void> {
    const reason = new LoadCancelled('the model was unloaded', true);
    for (const controller of this.#loads.get(name) ?? []) controller.abort(reason);
    for (const { id } of this.#graph.named(name)) for (const load of this.lifecycle.loadsOf(id)) load.cancel(reason);
    return this.#exclusive(this.#graph.relatedTo([name]), async () => {
      const places = this.#graph.named(name);
      const members = withMembers ? this.#graph.neededOnlyBy(places.map(({ id }) => id)) : [];
      await this.#change([], [...places, ...members]);
    });
  }

  /**
   * What is known of the model of a name; undefined when it was never loaded. With namespaces it throws for a name that
   * is not there exactly once (spec: model repository, section 1.7).
   */
  record(name: string): ModelRecord | undefined {
    if (this.#options.modelNamespacing !== true) return this.lifecycle.records.get(name);
    const places = this.#graph.named(name);
    if (places.length === 1) return this.lifecycle.records.get((places[0] as ModelPlace).id);
    if (places.length > 1) {
      throw new TritonError(
        'INVALID_ARG',
        `There are ${places.length} identifiers of model '${name}' in global map, model namespace must be provided to resolve ambiguity.`,
      );
    }
    if (this.#graph.knows(name)) {
      throw new TritonError('NOT_FOUND', `Identifier of model '${name}' is not found in global map`);
    }
    throw new TritonError('INVALID_ARG', `Request for unknown model: '${name}' is not found`);
  }

  /** False with namespaces for a name that is not there exactly once. */
  isUnambiguous(name: string): boolean {
    return this.#options.modelNamespacing !== true || this.#graph.named(name).length === 1;
  }

  /** Versions of all models of a name that serve, as text. */
  readyVersions(name: string): string[] {
    const ids = this.#options.modelNamespacing === true ? this.#graph.named(name).map(({ id }) => id) : [name];
    return ids.flatMap((id) => this.lifecycle.records.get(id)?.ready.map(({ version }) => version) ?? []);
  }

  /** Lists the repositories' directories with what is known of each (spec: model repository, section 8.5). */
  async index(onlyReady: boolean): Promise<IndexEntry[]> {
    const entries: IndexEntry[] = [];
    for (const { id, name, many } of await this.#repositories.names()) {
      const record = this.lifecycle.records.get(id);
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

  /** Takes everything out of service and waits until it is gone. */
  async unloadAll(): Promise<void> {
    this.cancelLoads();
    await Promise.allSettled(this.#operations.values());
    for (const id of this.lifecycle.records.keys()) this.lifecycle.unload(id);
    await this.lifecycle.settled();
    await this.#polled.removeAll();
    await this.#repositories.close();
  }

  /** Gives up every load that is on its way or comes later: the server stops. */
  cancelLoads(): void {
    const reason = new LoadCancelled('the server stops', true);
    for (const controllers of this.#loads.values()) for (const controller of controllers) controller.abort(reason);
    this.lifecycle.stopLoads(reason);
  }

  /** Counts the instances of all models in before the first is loaded, so that all get the same share of the cores. */
  async #reserve(polled: readonly Polled[]): Promise<void> {
    await Promise.all(
      polled.map(({ model, place, folder }) => this.lifecycle.reserve({ ...model, ...place, directory: folder })),
    );
  }

  /** Runs an operation when all earlier ones on any of these names have ended. */
  #exclusive<T>(names: Iterable<string>, operation: () => Promise<T>): Promise<T> {
    const held = [...names];
    const before = held.flatMap((name) => this.#operations.get(name) ?? []);
    const result = before.length === 0 ? operation() : Promise.allSettled(before).then(operation);
    for (const name of held) this.#operations.set(name, result);
    const forget = (): void => {
      for (const name of held) if (this.#operations.get(name) === result) this.#operations.delete(name);
    };
    result.then(forget, forget);
    return result;
  }

  /** Returns names beyond `held` that this load concerns too: nothing was done then. */
  async #load(
    names: readonly string[],
    parameters: LoadParameters,
    held: ReadonlySet<string>,
    cancelled: AbortSignal,
  ): Promise<string[]> {
    cancelled.throwIfAborted();
    if (parameters.files !== undefined && parameters.files.size > 0) {
      await this.#loadFiles(names[0] as string, parameters, cancelled);
      return [];
    }
    const entries: Polled[] = [];
    const seen = new Set<string>();
    const more: string[] = [];
    const missed: string[] = [];
    for (const name of names) {
      if (!(await this.#pollNamed(name, { parameters, asked: true, held, entries, seen, more }))) missed.push(name);
    }
    if (more.length > 0) return more;
    for (const name of names) for (const { id } of this.#graph.named(name)) this.#graph.ask(id);
    if (names.length > 1) await this.#reserve(entries);
    const errors = await this.#change(entries, [], cancelled);
    const failures = [...errors].filter(([id]) => names.some((name) => this.#isNamed(id, name)));
    if (failures.length > 0) throw joined(failures.map(([, error]) => error));
    const [first] = missed;
    if (first !== undefined) {
      throw new TritonError('INTERNAL', `failed to load '${first}', failed to poll from model repository`);
    }
    for (const name of names) {
      if (this.readyVersions(name).length > 0) continue;
      throw new TritonError('INTERNAL', `failed to load '${name}', no version is available`);
    }
    return [];
  }

  #isNamed(id: string, name: string): boolean {
    return this.#graph.named(name).some((place) => place.id === id);
  }

  /**
   * Polls what has changed of the models of a name and of the members of ensembles among them. Returns false when
   * something could not be polled.
   */
  async #pollNamed(
    name: string,
    round: {
      readonly parameters: LoadParameters;
      readonly asked: boolean;
      readonly held: ReadonlySet<string>;
      readonly entries: Polled[];
      readonly seen: Set<string>;
      readonly more: string[];
    },
  ): Promise<boolean> {
    if (round.seen.has(name)) return true;
    round.seen.add(name);
    if (!round.held.has(name)) {
      round.more.push(name);
      return true;
    }
    const places = await this.#repositories.find(name);
    let complete = places.length > 0;
    const configs: ModelConfig[] = [];
    for (const place of places) {
      const override = round.asked ? round.parameters.config : undefined;
      const unchanged = await this.#polled.isUnchanged(place);
      const serves = (this.lifecycle.records.get(place.id)?.ready.length ?? 0) > 0;
      let config = this.#graph.config(place.id);
      if (!unchanged || override !== undefined || !serves) {
        const kept = unchanged ? this.#polled.info(place.id)?.override : undefined;
        const polled = await pollPlace(this.#options, place, override ?? kept);
        if (polled === undefined) complete = false;
        else round.entries.push({ ...polled, asked: round.asked });
        config = polled?.model.config ?? config;
      }
      if (config !== undefined) configs.push(config);
    }
    for (const config of configs) {
      if (config.platform !== ENSEMBLE_PLATFORM) continue;
      for (const { model_name: member } of config.ensemble_scheduling?.step ?? []) {
        if (!(await this.#pollNamed(member, { ...round, asked: false }))) complete = false;
      }
    }
    return complete;
  }

  /** Loads a model whose files came with the call; no repository needs to have it. */
  async #loadFiles(name: string, parameters: LoadParameters, cancelled: AbortSignal): Promise<void> {
    const failure = new TritonError('INTERNAL', `failed to load '${name}', failed to poll from model repository`);
    let directory: string;
    try {
      directory = await writeFileOverride(parameters);
    } catch (reason) {
      this.#options.log.error(`Poll failed for model directory '${name}': ${TritonError.from(reason).message}`);
      throw failure;
    }
    const [known] = this.#graph.named(name);
    const { id, namespace } = known ?? { id: name, namespace: '' };
    const place: ModelPlace = { id, name, namespace, directory };
    const polled = await pollPlace(this.#options, place, parameters.config);
    const error =
      polled === undefined
        ? failure
        : (await this.#change([{ ...polled, temporary: true }], [], cancelled)).get(place.id);
    if (error === undefined) return;
    await this.#polled.removeOverride(directory);
    throw error;
  }

  /**
   * Loads what was polled, takes out of service what is gone, and loads or unloads the ensembles that any of it touches.
   * Returns the errors of the models that could not be loaded, by id.
   */
  async #change(
    polled: readonly Polled[],
    gone: readonly ModelPlace[],
    cancelled?: AbortSignal,
  ): Promise<ReadonlyMap<string, TritonError>> {
    const replaced = [...gone, ...polled.map(({ place }) => place)].flatMap(({ id }) => this.#polled.get(id) ?? []);
    for (const { id } of gone) {
      this.#graph.delete(id);
      this.#polled.delete(id);
    }
    for (const entry of polled) {
      this.#graph.set(entry.place, entry.model.config, entry.asked);
      this.#polled.set(entry);
    }
    const changed = polled.map(({ place }) => place);
    const touched = new Set([...changed.map(({ id }) => id), ...this.#graph.usersOf([...gone, ...changed])]);
    const errors = new Map<string, TritonError>();
    // What no member can mend is reported before the members are loaded.
    for (const id of touched) this.#refuseAt(id, this.#isEnsemble(id) ? this.#graph.checkPlace(id) : undefined, errors);
    const runs = new Map<string, Promise<void>>();
    const run = (id: string): Promise<void> => {
      let running = runs.get(id);
      if (running === undefined) {
        running = errors.has(id) ? Promise.resolve() : load(id);
        runs.set(id, running);
      }
      return running;
    };
    const load = async (id: string): Promise<void> => {
      if (this.#isEnsemble(id)) {
        await Promise.all(this.#graph.memberIds(id).map((member) => (touched.has(member) ? run(member) : undefined)));
        if (this.#refuseAt(id, this.#graph.check(id), errors)) return;
      }
      const error = await this.#loadPolled(this.#polled.get(id) as Polled, cancelled);
      this.#graph.loadEnded(id, error);
      if (error !== undefined) errors.set(id, error);
    };
    await Promise.all([...touched].map(run));
    for (const { id } of gone) {
      this.lifecycle.unload(id);
      this.#polled.forget(id);
    }
    for (const { place, folder } of replaced) this.#polled.releaseFetched(place.remote, folder);
    return errors;
  }

  #isEnsemble(id: string): boolean {
    return this.#graph.config(id)?.platform === ENSEMBLE_PLATFORM;
  }

  /** Takes an ensemble that does not fit its members out of service, and says why; false when there is no fault. */
  #refuseAt(id: string, fault: TritonError | undefined, errors: Map<string, TritonError>): boolean {
    if (fault === undefined) return false;
    this.#options.log.error(fault.toStatusText());
    this.lifecycle.unload(id);
    errors.set(id, new TritonError('INVALID_ARG', `load failed for model '${id}': ${fault.message}\n`));
    // Looking at its files again would mend nothing: it is looked at again when its members change.
    this.#polled.remember(this.#polled.get(id) as Polled);
    return true;
  }

  /** Loads a model; returns the error that a load call for it gets. */
  async #loadPolled(polled: Polled, cancelled: AbortSignal | undefined): Promise<TritonError | undefined> {
    const { place, folder, model, times, temporary } = polled;
    const before = this.#polled.info(place.id);
    // Versions of fetched models are never kept: the folder that they serve from goes away.
    const isLocal = place.remote === undefined && before?.directory === place.directory;
    const comparable = isLocal && !temporary && !this.#isEnsemble(place.id);
    try {
      await this.lifecycle.load({
        ...model,
        ...place,
        directory: folder,
        ...(comparable ? { filesUnchanged: unchangedVersions(before.times, times) } : {}),
        ...this.#members(place, model.config),
        ...(cancelled === undefined ? {} : { cancelled }),
      });
    } catch (reason) {
      return TritonError.from(reason);
    }
    this.#polled.remember(polled);
    return undefined;
  }

  /** An ensemble's configuration with the namespaces of its members ('' without any), and how it finds them there. */
  #members(place: ModelPlace, config: ModelConfig): { config: ModelConfig; find?: FindMember } {
    const scheduling = config.ensemble_scheduling;
    if (scheduling === undefined) return { config };
    const namespaced = (namespaceOf: (member: string) => string): ModelConfig => {
      const step = scheduling.step.map((each) => ({ ...each, model_namespace: namespaceOf(each.model_name) }));
      return { ...config, ensemble_scheduling: { ...scheduling, step } };
    };
    if (this.#options.modelNamespacing !== true) return { config: namespaced(() => '') };
    const places = new Map(
      scheduling.step.map(({ model_name: name }) => [name, this.#graph.resolve(place.id, name)] as const),
    );
    const find: FindMember = (name, version) =>
      requireReady(this.lifecycle.records.get(places.get(name)?.id ?? name), name, version);
    return { config: namespaced((name) => places.get(name)?.namespace ?? ''), find };
  }
}

/** Several failures of one call. */
function joined(errors: readonly TritonError[]): TritonError {
  const [first] = errors;
  if (errors.length === 1) return first as TritonError;
  return new TritonError('INVALID_ARG', errors.map(({ message }) => message).join(''));
}
