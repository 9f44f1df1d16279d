import { type Datatype, datatypeOfConfigValue } from '../../protocol/datatype.js';
import { ControlKind, type ModelSequenceBatching } from '../../protocol/proto/model-config.js';
import type { Tensor } from '../../protocol/tensor.js';
import type { SequenceId } from './slot.js';

type Make = (start: boolean, ready: boolean, end: boolean, id: Tensor | undefined) => Tensor;

/** Makes the control tensors of sequence batching, in the order of the configuration. */
export class SequenceControls {
  readonly #makers: readonly Make[];
  readonly #makeId: ((id: SequenceId) => Tensor) | undefined;

  /** `batches`: the model has a batch dimension, so controls are [1,1] and not [1]. */
  constructor(config: ModelSequenceBatching, batches: boolean) {
    const shape = batches ? [1, 1] : [1];
    const makers: Make[] = [];
    for (const { name, control: controls } of config.control_input) {
      for (const control of controls) {
        if (control.kind === ControlKind.values.CONTROL_SEQUENCE_CORRID) {
          const datatype = datatypeOfConfigValue(control.data_type) ?? 'UINT64';
          this.#makeId = (id) => ({ name, datatype, shape, data: encodeId(datatype, id) });
          makers.push((_start, _ready, _end, id) => id!);
          continue;
        }
        const [no, yes] = falseTrue(name, shape, control);
        makers.push(flagOf(control.kind, no, yes));
      }
    }
    this.#makers = makers;
  }

  /** The tensor of an id, which stays the same for a whole sequence; undefined where the model has none. */
  idTensor(id: SequenceId): Tensor | undefined {
    return this.#makeId?.(id);
  }

  /** Adds the control tensors of one row. They are shared objects: receivers do not write to tensors. */
  // biome-ignore lint/complexity/useMaxParams: called per row of a batch, an object for it would cost.
  add(inputs: Tensor[], start: boolean, ready: boolean, end: boolean, id: Tensor | undefined): void {
    const makers = this.#makers;
    for (let i = 0; i < makers.length; i++) inputs.push(makers[i]!(start, ready, end, id));
  }
}

function flagOf(kind: number, no: Tensor, yes: Tensor): Make {
  if (kind === ControlKind.values.CONTROL_SEQUENCE_START) return (start) => (start ? yes : no);
  if (kind === ControlKind.values.CONTROL_SEQUENCE_READY) return (_start, ready) => (ready ? yes : no);
  return (_start, _ready, end) => (end ? yes : no);
}

interface FlagLists {
  readonly int32_false_true: readonly number[];
  readonly fp32_false_true: readonly number[];
  readonly bool_false_true: readonly boolean[];
}

function falseTrue(name: string, shape: readonly number[], lists: FlagLists): readonly [Tensor, Tensor] {
  const tensor = (datatype: Datatype, data: ArrayBufferView): Tensor => ({
    name,
    datatype,
    shape,
    data: new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
  });
  const make = (index: 0 | 1): Tensor => {
    if (lists.int32_false_true.length === 2) return tensor('INT32', Int32Array.of(lists.int32_false_true[index]!));
    if (lists.fp32_false_true.length === 2) return tensor('FP32', Float32Array.of(lists.fp32_false_true[index]!));
    return tensor('BOOL', Uint8Array.of(lists.bool_false_true[index] ? 1 : 0));
  };
  return [make(0), make(1)];
}

/**
 * A correlation id in the control's datatype; 32-bit types take the low-order bits. Of a string a number gets the first
 * bytes of its wire form, length included, as in Triton.
 */
function encodeId(datatype: Datatype, id: SequenceId): Uint8Array {
  if (datatype === 'BYTES') {
    // 0 is what null rows have.
    return encodeText(typeof id === 'string' ? id : id === 0n ? '' : String(id));
  }
  const data = Buffer.alloc(datatype === 'UINT32' || datatype === 'INT32' ? 4 : 8);
  if (typeof id === 'string') {
    encodeText(id).copy(data);
    return data;
  }
  if (data.length === 4) data.writeUInt32LE(Number(BigInt.asUintN(32, id)), 0);
  else data.writeBigUInt64LE(BigInt.asUintN(64, id), 0);
  return data;
}

function encodeText(text: string): Buffer {
  const data = Buffer.alloc(4 + Buffer.byteLength(text));
  data.writeUInt32LE(data.length - 4, 0);
  data.write(text, 4);
  return data;
}
