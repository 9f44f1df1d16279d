/** Rules of `batch_input` and `batch_output`. */

import type { Faults } from '../../contract/fault.js';
import { BatchInputKind, BatchOutputKind, DataType, type ModelConfig } from '../../protocol/proto/model-config.js';
import { enumName } from '../../protocol/proto/schema.js';

const BATCH_INPUT_TYPES: ReadonlySet<number> = new Set([DataType.values.TYPE_INT32, DataType.values.TYPE_FP32]);

/** The core's checks. */
export function checkBatchIO(config: ModelConfig, faults: Faults): void {
  const inputs = new Set(config.input.map(({ name }) => name));
  const outputs = new Set(config.output.map(({ name }) => name));
  for (const [i, item] of config.batch_input.entries()) {
    const add = (field: string, message: string) =>
      faults.add('batch-input', ['batch_input', i, field], `${message} for ${config.name}`);
    const kind = enumName(BatchInputKind, item.kind);
    if (kind === undefined) {
      add('kind', "unknown batch input kind ''");
    } else if (item.source_input.length !== 1) {
      add('source_input', `batch input kind '${kind}' expects 1 source input, got ${item.source_input.length}`);
    }
    if (!BATCH_INPUT_TYPES.has(item.data_type)) {
      add('data_type', 'batch input data type must be TYPE_INT32 or TYPE_FP32');
    }
    for (const source of item.source_input) {
      if (!inputs.has(source)) add('source_input', `unknown source input name '${source}'`);
    }
  }
  for (const [i, item] of config.batch_output.entries()) {
    const add = (field: string, message: string) =>
      faults.add('batch-output', ['batch_output', i, field], `${message} for ${config.name}`);
    const kind = enumName(BatchOutputKind, item.kind);
    if (kind === undefined) {
      add('kind', "unknown batch output kind ''");
    } else if (item.source_input.length !== 1) {
      add('source_input', `batch output kind '${kind}' expects 1 source input, got ${item.source_input.length}`);
    }
    for (const source of item.source_input) {
      if (!inputs.has(source)) add('source_input', `unknown source input name '${source}'`);
    }
    const seen = new Set<string>();
    for (const target of item.target_name) {
      if (!outputs.has(target)) add('target_name', `unknown target output name '${target}'`);
      if (seen.has(target)) add('target_name', `target output name '${target}' can only be specified once`);
      seen.add(target);
    }
  }
}

/** The checks of a backend's own reader, which comes before the core's when a model is loaded. */
export function checkBatchIOForBackend(config: ModelConfig, faults: Faults): void {
  for (const [i, item] of config.batch_input.entries()) {
    const path = ['batch_input', i];
    if (enumName(BatchInputKind, item.kind) === undefined) unreadableKind([...path, 'kind'], faults);
    if (item.data_type === DataType.values.TYPE_INVALID) {
      const text = "unexpected batch input data type 'TYPE_INVALID'";
      faults.add('batch-input', [...path, 'data_type'], text, 'Write data_type TYPE_INT32 or TYPE_FP32.');
    }
  }
  for (const [i, item] of config.batch_output.entries()) {
    if (enumName(BatchOutputKind, item.kind) === undefined) unreadableKind(['batch_output', i, 'kind'], faults);
  }
}

function unreadableKind(path: (string | number)[], faults: Faults): void {
  faults.list.push({
    rule: 'batch-kind',
    code: 'INTERNAL',
    message: 'attempt to access JSON non-string as string',
    path,
    remedy: 'Write the kind by its name.',
  });
}
