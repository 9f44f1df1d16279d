/** Rules of the sequence batcher. */

import type { Faults } from '../../contract/fault.js';
import type { FieldPath } from '../../contract/finding.js';
import {
  ControlKind,
  DataType,
  type ModelConfig,
  type ModelSequenceBatching,
} from '../../protocol/proto/model-config.js';
import type { EnumName } from '../../protocol/proto/schema.js';

const BOOLEAN_KINDS = ['CONTROL_SEQUENCE_START', 'CONTROL_SEQUENCE_END', 'CONTROL_SEQUENCE_READY'] as const;
const CORRID = 'CONTROL_SEQUENCE_CORRID';
const { TYPE_UINT64, TYPE_INT64, TYPE_UINT32, TYPE_INT32, TYPE_STRING } = DataType.values;
const CORRID_TYPES: ReadonlySet<number> = new Set([TYPE_UINT64, TYPE_INT64, TYPE_UINT32, TYPE_INT32, TYPE_STRING]);
const LISTS = ['int32_false_true', 'fp32_false_true', 'bool_false_true'] as const;
const LIST_NAMES = "'int32_false_true', 'fp32_false_true' and 'bool_false_true'";
const LIST_CHOICES = "'int32_false_true', 'fp32_false_true' or 'bool_false_true'";

type Control = ModelSequenceBatching['control_input'][number]['control'][number];

/** Checks `sequence_batching`. */
export function checkSequenceBatching(config: ModelConfig, faults: Faults): void {
  const batching = config.sequence_batching;
  if (batching === undefined) return;
  if (config.response_cache?.enable) {
    faults.add(
      'cache-sequence',
      ['response_cache', 'enable'],
      `Response Cache does not currently support model ${config.name} with sequence batching scheduler. Please disable the response cache.`,
      "Remove 'response_cache'.",
    );
  }
  const checkName = nameCheck(config, faults);
  for (const [i, kind] of BOOLEAN_KINDS.entries()) {
    checkControlsOf(kind, config, faults, i === 0 ? checkName : undefined);
  }
  checkControlsOf(CORRID, config, faults);
  checkStrategy(config, batching, faults);
}

/** One pass over all controls, looking for one kind; the first pass also judges the names of the tensors. */
function checkControlsOf(
  kind: EnumName<typeof ControlKind>,
  config: ModelConfig,
  faults: Faults,
  checkName?: (name: string, path: FieldPath) => void,
): void {
  let found = false;
  for (const [i, input] of (config.sequence_batching?.control_input ?? []).entries()) {
    const path = ['sequence_batching', 'control_input', i];
    checkName?.(input.name, [...path, 'name']);
    for (const [j, control] of input.control.entries()) {
      if (control.kind !== ControlKind.values[kind]) continue;
      const text = found
        ? `sequence batching specifies multiple ${kind} tensors for ${config.name}`
        : (kind === CORRID ? corridFault : booleanFault)(control, kind, config.name);
      if (text !== undefined) faults.add('sequence-control', [...path, 'control', j], text);
      found = true;
    }
  }
}

/** Checks the names of control tensors, given one after the other. */
function nameCheck(config: ModelConfig, faults: Faults): (name: string, path: FieldPath) => void {
  const seen = new Set<string>();
  return (name, path) => {
    if (name === '') {
      faults.add('control-name', path, `sequence batching control tensor must have a name for ${config.name}`);
    } else if (seen.has(name)) {
      faults.add(
        'control-name',
        path,
        `sequence batching control tensor '${name}' is specified for multiple control kinds for ${config.name}`,
        'Give each control a tensor of its own.',
      );
    }
    seen.add(name);
  };
}

function booleanFault(control: Control, kind: string, model: string): string | undefined {
  const given = LISTS.filter((list) => control[list].length > 0);
  if (given.length === 0) return `sequence batching must specify either ${LIST_CHOICES} for ${kind} for ${model}`;
  if (given.length > 1) return `sequence batching specifies more than one from ${LIST_NAMES} for ${kind} for ${model}`;
  const [list] = given as [(typeof LISTS)[number]];
  if (control[list].length !== 2) {
    return `sequence batching control '${list}' must have exactly 2 entries for ${kind} for ${model}`;
  }
  return undefined;
}

function corridFault(control: Control, kind: string, model: string): string | undefined {
  if (LISTS.some((list) => control[list].length > 0)) {
    return `sequence batching must not specify either ${LIST_CHOICES} for ${kind} for ${model}`;
  }
  if (!CORRID_TYPES.has(control.data_type)) {
    return `unexpected data type for control ${kind} for ${model}. Allowed data types are TYPE_UINT64, TYPE_INT64, TYPE_UINT32, TYPE_INT32 and TYPE_STRING`;
  }
  return undefined;
}

function checkStrategy(config: ModelConfig, batching: ModelSequenceBatching, faults: Faults): void {
  const { name } = config;
  for (const [i, size] of (batching.oldest?.preferred_batch_size ?? []).entries()) {
    const path = ['sequence_batching', 'oldest', 'preferred_batch_size', i];
    if (size <= 0) {
      faults.add('preferred-batch-size', path, `sequence batching preferred batch size must be positive for ${name}`);
    } else if (size > config.max_batch_size) {
      faults.add(
        'preferred-batch-size',
        path,
        `sequence batching preferred batch size must be <= max batch size for ${name}`,
        `Set max_batch_size to at least ${size} (it is ${config.max_batch_size}), or prefer smaller batches.`,
      );
    }
  }
  const utilization = batching.direct?.minimum_slot_utilization ?? 0;
  if (utilization < 0 || utilization > 1) {
    faults.add(
      'slot-utilization',
      ['sequence_batching', 'direct', 'minimum_slot_utilization'],
      `sequence batching minimum slot utilization must be in range (0.0, 1.0] for ${name}`,
    );
  }
}
