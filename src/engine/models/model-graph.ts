import type { RuleName } from '../../contract/rule-table.js';
import { ENSEMBLE_PLATFORM } from '../../modelconfig/complete/normalize.js';
import { TritonError } from '../../protocol/error.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import { checkEnsembleGraph, type Member } from '../../repository/load/ensemble-graph.js';
import type { ModelRecord } from './model-record.js';
import { type ModelPlace, modelId } from './poll/model-place.js';

interface Node {
  readonly place: ModelPlace;
  /** As polled last without a fault. */
  readonly config: ModelConfig;
  /** Names of the models that an ensemble runs; none for other models. */
  readonly members: readonly string[];
  /** False for a model that serves just because an ensemble needs it. */
  asked: boolean;
  /** Why the ensemble does not fit its members. */
  problem?: string;
  /** Why the last load failed, as the lifecycle words it. */
  loadError?: string;
}

/** Faults that loading members cannot mend. */
const PLACE_RULES: ReadonlySet<RuleName> = new Set(['ensemble-member-missing', 'ensemble-cycle']);

/** Names of the models that an ensemble runs, each once; none for other models. */
export function membersOf(config: ModelConfig): string[] {
  if (config.platform !== ENSEMBLE_PLATFORM) return [];
  return [...new Set(config.ensemble_scheduling?.step.map((step) => step.model_name))];
}

/** The models that are to serve, and which ensembles need which of them (spec: model repository, section 4.1 B). */
export class ModelGraph {
  /** By id. */
  readonly #nodes = new Map<string, Node>();
  readonly #byName = new Map<string, Set<Node>>();
  readonly #ensembles = new Set<Node>();
  readonly #records: ReadonlyMap<string, ModelRecord>;

  /** `records`: what is loaded, by id. */
  constructor(records: ReadonlyMap<string, ModelRecord>) {
    this.#records = records;
  }

  /** Every model. */
  places(): ModelPlace[] {
    return [...this.#nodes.values()].map(({ place }) => place);
  }

  /** The models of a name: more than one only with namespaces. */
  named(name: string): ModelPlace[] {
    return [...(this.#byName.get(name) ?? [])].map(({ place }) => place);
  }

  /** True when there is, or once was, a model of the name. */
  knows(name: string): boolean {
    return this.#byName.has(name);
  }

  /** The configuration that was polled of a model. */
  config(id: string): ModelConfig | undefined {
    return this.#nodes.get(id)?.config;
  }

  /** Enters a model. `asked`: by its own name, not just for an ensemble; once asked for it stays so. */
  set(place: ModelPlace, config: ModelConfig, asked: boolean): void {
    const before = this.#nodes.get(place.id);
    this.delete(place.id);
    const node: Node = { place, config, members: membersOf(config), asked: asked || (before?.asked ?? false) };
    this.#nodes.set(place.id, node);
    const namesakes = this.#byName.get(place.name);
    if (namesakes === undefined) this.#byName.set(place.name, new Set([node]));
    else namesakes.add(node);
    if (node.members.length > 0) this.#ensembles.add(node);
  }

  /** Notes that a model was asked for by its own name. */
  ask(id: string): void {
    const node = this.#nodes.get(id);
    if (node !== undefined) node.asked = true;
  }

  /** Notes how a load ended. */
  loadEnded(id: string, error: TritonError | undefined): void {
    const node = this.#nodes.get(id);
    if (node === undefined) return;
    delete node.loadError;
    if (error === undefined) return;
    const start = `load failed for model '${id}': `;
    node.loadError = error.message.startsWith(start) ? error.message.slice(start.length).trimEnd() : error.message;
  }

  delete(id: string): void {
    const node = this.#nodes.get(id);
    if (node === undefined) return;
    this.#nodes.delete(id);
    this.#byName.get(node.place.name)?.delete(node);
    this.#ensembles.delete(node);
  }

  /** The model that a step of an ensemble means: in the ensemble's own namespace, else wherever there is just one. */
  resolve(ensemble: string, name: string): ModelPlace | undefined {
    const node = this.#nodes.get(ensemble);
    return node === undefined ? undefined : this.#resolve(node, name)?.place;
  }

  /** Ensembles that need one of these models, also through other ensembles. */
  usersOf(places: Iterable<ModelPlace>): string[] {
    const users = new Set<string>();
    const open = [...places];
    for (const place of open) {
      for (const ensemble of this.#ensembles) {
        if (users.has(ensemble.place.id) || !ensemble.members.includes(place.name)) continue;
        const own = this.#nodes.get(modelId(ensemble.place.namespace, place.name));
        if (own !== undefined && own.place.id !== place.id) continue; // means another of the same name
        users.add(ensemble.place.id);
        open.push(ensemble.place);
      }
    }
    return [...users];
  }

  /** Names of all models that are connected with one of these names through ensembles, whichever way. */
  relatedTo(names: Iterable<string>): ReadonlySet<string> {
    const related = new Set(names);
    for (const name of related) {
      for (const { members } of this.#byName.get(name) ?? []) for (const member of members) related.add(member);
      for (const { place, members } of this.#ensembles) if (members.includes(name)) related.add(place.name);
    }
    return related;
  }

  /** Members of ensembles, also of ensembles in them, that nobody asked for and nothing but these ensembles needs. */
  neededOnlyBy(ids: Iterable<string>): ModelPlace[] {
    const given = new Set(ids);
    const going = new Set(given);
    for (const id of going) {
      for (const member of this.memberIds(id)) {
        if (this.#nodes.get(member)?.asked !== false) continue;
        const users = [...this.#ensembles].filter((user) => this.memberIds(user.place.id).includes(member));
        if (users.every(({ place }) => going.has(place.id))) going.add(member);
      }
    }
    return [...going].flatMap((id) => (given.has(id) ? [] : (this.#nodes.get(id)?.place ?? [])));
  }

  /** Ids of the members of an ensemble that are there; none for other models. */
  memberIds(id: string): string[] {
    const node = this.#nodes.get(id);
    return node === undefined ? [] : node.members.flatMap((name) => this.#resolve(node, name)?.place.id ?? []);
  }

  /** The first fault in an ensemble's place among the models, whether they are loaded or not. */
  checkPlace(id: string): TritonError | undefined {
    return this.#check(id, (rule) => PLACE_RULES.has(rule));
  }

  /** The first fault of an ensemble beside its members as they are loaded; it is remembered for its users. */
  check(id: string): TritonError | undefined {
    return this.#check(id, () => true);
  }

  #check(id: string, counts: (rule: RuleName) => boolean): TritonError | undefined {
    const node = this.#nodes.get(id)!;
    delete node.problem;
    const faults = checkEnsembleGraph(node.config, (name) => this.#member(this.#resolve(node, name)));
    const fault = faults.find(({ rule }) => counts(rule));
    if (fault === undefined) return undefined;
    node.problem = fault.message;
    return new TritonError(fault.code, fault.message);
  }

  #resolve(ensemble: Node, name: string): Node | undefined {
    const own = this.#nodes.get(modelId(ensemble.place.namespace, name));
    if (own !== undefined) return own;
    const [first, ...others] = this.#byName.get(name) ?? [];
    return others.length === 0 ? first : undefined;
  }

  #member(node: Node | undefined): Member | undefined {
    if (node === undefined) return undefined;
    const { config, problem, loadError, place } = node;
    const ready = this.#records.get(place.id)?.ready ?? [];
    return {
      config: ready.at(-1)?.config ?? config,
      versions: ready.map(({ version }) => version),
      judged: true,
      ...(problem === undefined ? {} : { invalid: problem }),
      ...(loadError === undefined ? {} : { loadError }),
    };
  }
}
