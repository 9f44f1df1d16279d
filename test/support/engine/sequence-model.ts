/** A model with sequence batching on the gated backend, and requests of sequences for it. */
import assert from 'node:assert/strict';
import type { ExecutionRequest } from '../../../src/contract/backend.js';
import type { InferenceRequest } from '../../../src/contract/request.js';
import { GatedBackend, int32, makeRequest, startEngine } from './engine-harness.js';

const CONTROLS = `
  control_input { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [0, 1] } }
  control_input { name: "READY" control { kind: CONTROL_SEQUENCE_READY fp32_false_true: [0, 1] } }
  control_input { name: "END" control { kind: CONTROL_SEQUENCE_END bool_false_true: [false, true] } }
  control_input { name: "ID" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64 } }`;

/** What the model is like. */
export interface SequenceModelOptions {
  readonly batch?: number;
  readonly instances?: number;
  /** Dimensions of IN and OUT. */
  readonly dims?: string;
  /** Files of the model's directory. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
}

/** Starts an engine with the model `m`: IN and OUT of INT32, all four controls. `strategy` is put into its batcher. */
export async function startSequenceModel(strategy: string, options: SequenceModelOptions = {}) {
  const { batch = 3, instances = 1, dims = '1', files = {} } = options;
  const backend = new GatedBackend();
  const text = `name: "m" backend: "gated" max_batch_size: ${batch}
    input { name: "IN" data_type: TYPE_INT32 dims: [${dims}] }
    output { name: "OUT" data_type: TYPE_INT32 dims: [${dims}] }
    instance_group { count: ${instances} } sequence_batching { ${strategy} ${CONTROLS} }`;
  const own = Object.entries(files).map(([name, content]) => [`m/${name}`, content] as const);
  const started = await startEngine(
    { 'm/config.pbtxt': text, 'm/1/': '', ...Object.fromEntries(own) },
    { backends: [backend] },
  );
  assert.equal(started.engine.startError, undefined, started.log.join('\n'));
  return { ...started, backend, model: started.engine.model('m', '') };
}

/** A request of a sequence; `flags` holds S for START and E for END. */
export function step(
  id: bigint | string,
  value: number,
  flags = '',
  more: Partial<InferenceRequest> = {},
): InferenceRequest {
  return makeRequest([int32('IN', [1, 1], [value])], {
    id: `${id}.${value}`,
    correlationId: id,
    sequenceStart: flags.includes('S'),
    sequenceEnd: flags.includes('E'),
    ...more,
  });
}

/** What a row of a batch says: value, START, READY, END, id. */
export function row(request: ExecutionRequest): number[] {
  const bytes = (name: string) => viewOf(request, name);
  return [
    bytes('IN').getInt32(0, true),
    bytes('START').getInt32(0, true),
    bytes('READY').getFloat32(0, true),
    bytes('END').getUint8(0),
    Number(bytes('ID').getBigUint64(0, true)),
  ];
}

/** Bytes of an input that a backend was given. */
export function viewOf(request: ExecutionRequest, name: string): DataView {
  const { data } = request.inputs.find((input) => input.name === name)!;
  return new DataView(data.buffer, data.byteOffset, data.byteLength);
}
