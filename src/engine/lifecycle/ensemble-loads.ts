import { ENSEMBLE_PLATFORM } from '../../modelconfig/normalize.js';
import { TritonError } from '../../protocol/error.js';
import type { ModelConfig } from '../../protocol/proto/model-config.js';
import { checkEnsembleGraph, type Member } from '../../repository/ensemble-graph.js';
import type { Log } from '../log.js';
import type { ModelRecord } from './model-record.js';

/** A model that was polled and is to serve, as ensembles see it. */
export interface GraphNode {
  readonly name: string;
  /** As polled. */
  readonly config: ModelConfig;
  /** Why the ensemble does not fit its members. */
  problem?: string;
}

/** Names of the models that an ensemble runs, each once. */
export function membersOf(config: ModelConfig): string[] {
  if (config.platform !== ENSEMBLE_PLATFORM) return [];
  return [...new Set(config.ensemble_scheduling?.step.map((step) => step.model_name))];
}

/**
 * Checks an ensemble against the models that are loaded (spec: model repository, section 4.1 B). Logs and throws the
 * first fault, as a load call reports it.
 */
export function checkMembers(
  node: GraphNode,
  nodes: ReadonlyMap<string, GraphNode>,
  records: ReadonlyMap<string, ModelRecord>,
  log: Log,
): void {
  delete node.problem;
  const [fault] = checkEnsembleGraph(node.config, (name) => memberOf(nodes.get(name), records.get(name)));
  if (fault === undefined) return;
  node.problem = fault.message;
  log.error(new TritonError(fault.code, fault.message).toStatusText());
  throw new TritonError('INVALID_ARG', `load failed for model '${node.name}': ${fault.message}\n`);
}

function memberOf(node: GraphNode | undefined, record: ModelRecord | undefined): Member | undefined {
  if (node === undefined) return undefined;
  const ready = record?.ready ?? [];
  const failed = record?.versions.filter(({ state, reason }) => state === 'UNAVAILABLE' && reason !== '') ?? [];
  const loadError = failed
    .map(({ version, reason }) => `version ${version} is at UNAVAILABLE state: ${reason};`)
    .join('');
  return {
    config: ready.at(-1)?.config ?? node.config,
    versions: ready.map(({ version }) => version),
    judged: true,
    ...(node.problem === undefined ? {} : { invalid: node.problem }),
    ...(loadError === '' ? {} : { loadError }),
  };
}

/** Names in an order in which every ensemble comes after its members; members of a circle in the order given. */
export function membersFirst(names: Iterable<string>, nodes: ReadonlyMap<string, GraphNode>): string[] {
  const ordered: string[] = [];
  const seen = new Set<string>();
  const wanted = new Set(names);
  const visit = (name: string): void => {
    if (seen.has(name)) return;
    seen.add(name);
    for (const member of membersOf(nodes.get(name)?.config ?? NOTHING)) visit(member);
    if (wanted.has(name)) ordered.push(name);
  };
  for (const name of wanted) visit(name);
  return ordered;
}

const NOTHING = { platform: '' } as ModelConfig;
