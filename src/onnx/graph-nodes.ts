/** The operators of a graph, read from the bytes of a small .onnx file: what bounds its runs is found from them. */
import { MessageReader, type ProtoField } from './message-reader.js';

/** An attribute: its number or numbers; `other` for everything else (strings, tensors, graphs). */
export type NodeAttribute = number | readonly number[] | 'other';

/** One operator. */
export interface GraphNode {
  readonly operator: string;
  /** '' is the standard domain. */
  readonly domain: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: ReadonlyMap<string, NodeAttribute>;
  /** The tensor in its attribute `value` (operator Constant). */
  readonly value?: StoredTensor;
}

/** A tensor that lies in the file. */
export interface StoredTensor {
  readonly dims: readonly number[];
  /** True for tensors of strings. */
  readonly isText: boolean;
  /** Elements of small INT64 tensors, which are what shapes and axes are given as. */
  readonly integers?: readonly number[];
}

/** What is known of a graph. */
export interface GraphNodes {
  readonly nodes: readonly GraphNode[];
  readonly stored: ReadonlyMap<string, StoredTensor>;
}

const INT64 = 7;
const STRING = 8;
/** Shapes and lists of axes are shorter; longer INT64 tensors are data. */
const MAX_INTEGERS = 64;

/** Reads the graph of a model. Throws when the bytes are not a protobuf message. */
export function readGraphNodes(bytes: Buffer): GraphNodes {
  const nodes: GraphNode[] = [];
  const stored = new Map<string, StoredTensor>();
  const reader = new MessageReader(bytes);
  for (const field of reader.fields()) {
    if (field.number !== 7 || field.wireType !== 2) continue;
    for (const inner of reader.fields(field)) {
      if (inner.wireType !== 2) continue;
      if (inner.number === 1) nodes.push(readNode(reader, inner));
      else if (inner.number === 5) {
        const { name, tensor } = readTensor(reader, inner);
        stored.set(name, tensor);
      }
    }
  }
  return { nodes, stored };
}

function readNode(reader: MessageReader, node: ProtoField): GraphNode {
  const inputs: string[] = [];
  const outputs: string[] = [];
  const attributes = new Map<string, NodeAttribute>();
  let operator = '';
  let domain = '';
  let value: StoredTensor | undefined;
  for (const field of reader.fields(node)) {
    if (field.wireType !== 2) continue;
    if (field.number === 1) inputs.push(reader.text(field));
    else if (field.number === 2) outputs.push(reader.text(field));
    else if (field.number === 4) operator = reader.text(field);
    else if (field.number === 7) domain = reader.text(field);
    else if (field.number === 5) {
      const read = readAttribute(reader, field);
      attributes.set(read.name, read.attribute);
      if (read.name === 'value') value = read.tensor;
    }
  }
  const standard = domain === 'ai.onnx' ? '' : domain;
  return { operator, domain: standard, inputs, outputs, attributes, ...(value === undefined ? {} : { value }) };
}

function readAttribute(
  reader: MessageReader,
  field: ProtoField,
): { name: string; attribute: NodeAttribute; tensor?: StoredTensor } {
  let name = '';
  let attribute: NodeAttribute = 'other';
  let tensor: StoredTensor | undefined;
  const list: number[] = [];
  for (const part of reader.fields(field)) {
    if (part.number === 1) name = reader.text(part);
    else if (part.number === 3) attribute = reader.integers(part)[0] ?? 0;
    else if (part.number === 8) list.push(...reader.integers(part));
    else if (part.number === 5) tensor = readTensor(reader, part).tensor;
  }
  if (list.length > 0) attribute = list;
  return { name, attribute, ...(tensor === undefined ? {} : { tensor }) };
}

function readTensor(reader: MessageReader, field: ProtoField): { name: string; tensor: StoredTensor } {
  const dims: number[] = [];
  let name = '';
  let type = 0;
  let raw: ProtoField | undefined;
  const list: ProtoField[] = [];
  for (const part of reader.fields(field)) {
    if (part.number === 1) dims.push(...reader.integers(part));
    else if (part.number === 2) type = reader.integers(part)[0] ?? 0;
    else if (part.number === 8) name = reader.text(part);
    else if (part.number === 9) raw = part;
    else if (part.number === 7) list.push(part);
  }
  const count = dims.reduce((product, dim) => product * dim, 1);
  const tensor = { dims, isText: type === STRING };
  if (type !== INT64 || count > MAX_INTEGERS) return { name, tensor };
  if (raw !== undefined) {
    const bytes = reader.bytes(raw);
    const integers = Array.from({ length: bytes.length >> 3 }, (_, i) => Number(bytes.readBigInt64LE(i * 8)));
    return { name, tensor: { ...tensor, integers } };
  }
  return { name, tensor: { ...tensor, integers: list.flatMap((part) => reader.integers(part)) } };
}
