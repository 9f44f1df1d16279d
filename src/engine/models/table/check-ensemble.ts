/** Whether an ensemble fits the models that it runs. */

import { TritonError } from '../../../base/error.js';
import type { RuleName } from '../../../contract/rule-table.js';
import { checkEnsembleGraph, type Member } from '../../../repository/load/ensemble-graph.js';
import type { ModelEntry } from './model-entry.js';
import type { ModelTable } from './model-table.js';

/** Faults that loading members cannot fix. */
const PLACE_RULES: ReadonlySet<RuleName> = new Set(['ensemble-member-missing', 'ensemble-cycle']);

/** The first fault in how an ensemble stands among the models, whether they are loaded or not. */
export function checkPlace(table: ModelTable, ensemble: ModelEntry): TritonError | undefined {
  return check(table, ensemble, (rule) => PLACE_RULES.has(rule));
}

/** The first fault of an ensemble beside its members as they are loaded; it is remembered for its users. */
export function checkMembers(table: ModelTable, ensemble: ModelEntry): TritonError | undefined {
  return check(table, ensemble, () => true);
}

function check(table: ModelTable, ensemble: ModelEntry, counts: (rule: RuleName) => boolean): TritonError | undefined {
  ensemble.problem = undefined;
  const { polled } = ensemble;
  if (polled === undefined) return undefined;
  const faults = checkEnsembleGraph(polled.model.config, (name) => memberOf(table.resolve(ensemble, name)));
  const fault = faults.find(({ rule }) => counts(rule));
  if (fault === undefined) return undefined;
  ensemble.problem = fault.message;
  return new TritonError(fault.code, fault.message);
}

function memberOf(entry: ModelEntry | undefined): Member | undefined {
  if (entry?.polled === undefined) return undefined;
  const { polled, problem, loadError, record } = entry;
  const ready = record?.ready ?? [];
  return {
    config: ready.at(-1)?.config ?? polled.model.config,
    versions: ready.map(({ version }) => version),
    judged: true,
    ...(problem === undefined ? {} : { invalid: problem }),
    ...(loadError === undefined ? {} : { loadError }),
  };
}
