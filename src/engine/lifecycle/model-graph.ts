import { ENSEMBLE_PLATFORM } from '../../modelconfig/normalize.js';
import { TritonError } from '../../protocol/error.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import { checkEnsembleGraph, type Member } from '../../repository/ensemble-graph.js';
import type { PolledModel } from '../../repository/poll-model.js';
import type { ModelRecord } from './model-record.js';

interface Node {
  /** As polled last without a fault. */
  model: PolledModel;
  /** False for a model that serves just because an ensemble needs it. */
  asked: boolean;
  /** Why the ensemble does not fit its members. */
  problem?: string;
  /** Why the last load failed, as the lifecycle words it. */
  loadError?: string;
}

/** Faults that loading members cannot mend. */
const PLACE_RULES = new Set(['ensemble-member-missing', 'ensemble-cycle']);

/** Names of the models that an ensemble runs, each once; none for other models. */
export function membersOf(config: ModelConfig): string[] {
  if (config.platform !== ENSEMBLE_PLATFORM) return [];
  return [...new Set(config.ensemble_scheduling?.step.map((step) => step.model_name))];
}

/** The models that are to serve, and which ensembles need which of them (spec: model repository, section 4.1 B). */
export class ModelGraph {
  readonly #nodes = new Map<string, Node>();
  readonly #records: ReadonlyMap<string, ModelRecord>;

  /** `records`: what is loaded. */
  constructor(records: ReadonlyMap<string, ModelRecord>) {
    this.#records = records;
  }

  has(name: string): boolean {
    return this.#nodes.has(name);
  }

  /** What was polled of a model. */
  model(name: string): PolledModel | undefined {
    return this.#nodes.get(name)?.model;
  }

  /** Enters a model. `asked`: by its own name, not just for an ensemble; once asked for it stays so. */
  set(model: PolledModel, asked: boolean): void {
    const before = this.#nodes.get(model.name);
    this.#nodes.set(model.name, { model, asked: asked || (before?.asked ?? false) });
  }

  /** Notes that a model was asked for by its own name. */
  ask(name: string): void {
    const node = this.#nodes.get(name);
    if (node !== undefined) node.asked = true;
  }

  /** Notes how a load ended. */
  loadEnded(name: string, error: TritonError | undefined): void {
    const node = this.#nodes.get(name);
    if (node === undefined) return;
    delete node.loadError;
    if (error === undefined) return;
    const start = `load failed for model '${name}': `;
    node.loadError = error.message.startsWith(start) ? error.message.slice(start.length).trimEnd() : error.message;
  }

  delete(name: string): void {
    this.#nodes.delete(name);
  }

  /** Ensembles that need one of these models, also through other ensembles; members before those that need them. */
  usersOf(names: Iterable<string>): string[] {
    const users = new Set<string>();
    const open = [...names];
    for (const name of open) {
      for (const [user, { model }] of this.#nodes) {
        if (users.has(user) || !membersOf(model.config).includes(name)) continue;
        users.add(user);
        open.push(user);
      }
    }
    return this.membersFirst(users);
  }

  /** A model with everything that is connected with it through ensembles, whichever way. */
  relatedTo(name: string): string[] {
    const related = new Set([name]);
    for (const current of related) {
      const node = this.#nodes.get(current);
      if (node !== undefined) for (const member of membersOf(node.model.config)) related.add(member);
      for (const [user, { model }] of this.#nodes) if (membersOf(model.config).includes(current)) related.add(user);
    }
    return [...related];
  }

  /** Members of an ensemble, also of ensembles in it, that nobody asked for and nothing but it needs. */
  neededOnlyBy(name: string): string[] {
    const going = new Set([name]);
    for (const current of going) {
      const node = this.#nodes.get(current);
      for (const member of node === undefined ? [] : membersOf(node.model.config)) {
        const found = this.#nodes.get(member);
        if (found === undefined || found.asked) continue;
        const users = [...this.#nodes].filter(([, { model }]) => membersOf(model.config).includes(member));
        if (users.every(([user]) => going.has(user))) going.add(member);
      }
    }
    going.delete(name);
    return [...going];
  }

  /** Names in an order in which every ensemble comes after its members; those of a circle as they were given. */
  membersFirst(names: Iterable<string>): string[] {
    const ordered: string[] = [];
    const seen = new Set<string>();
    const wanted = new Set(names);
    const visit = (name: string): void => {
      if (seen.has(name)) return;
      seen.add(name);
      const node = this.#nodes.get(name);
      if (node !== undefined) for (const member of membersOf(node.model.config)) visit(member);
      if (wanted.has(name)) ordered.push(name);
    };
    for (const name of wanted) visit(name);
    return ordered;
  }

  /** The first fault in an ensemble's place among the models, whether they are loaded or not. */
  checkPlace(name: string): TritonError | undefined {
    return this.#check(name, (rule) => PLACE_RULES.has(rule));
  }

  /** The first fault of an ensemble beside its members as they are loaded; it is remembered for its users. */
  check(name: string): TritonError | undefined {
    return this.#check(name, () => true);
  }

  #check(name: string, counts: (rule: string) => boolean): TritonError | undefined {
    const node = this.#nodes.get(name)!;
    delete node.problem;
    const faults = checkEnsembleGraph(node.model.config, (member) => this.#member(member));
    const fault = faults.find(({ rule }) => counts(rule));
    if (fault === undefined) return undefined;
    node.problem = fault.message;
    return new TritonError(fault.code, fault.message);
  }

  #member(name: string): Member | undefined {
    const node = this.#nodes.get(name);
    if (node === undefined) return undefined;
    const { model, problem, loadError } = node;
    const ready = this.#records.get(name)?.ready ?? [];
    return {
      config: ready.at(-1)?.config ?? model.config,
      versions: ready.map(({ version }) => version),
      judged: true,
      ...(problem === undefined ? {} : { invalid: problem }),
      ...(loadError === undefined ? {} : { loadError }),
    };
  }
}
