/** Writes small .onnx files for tests, byte by byte: also such that no exporter would write. */

/** A tensor's type and shape in a graph's interface. Text dimensions are symbols, undefined ones are left open. */
export interface ValueSpec {
  readonly name: string;
  /** TensorProto.DataType; 1 = FLOAT. */
  readonly type?: number;
  /** Left out: the file gives no shape. */
  readonly dims?: readonly (number | string | undefined)[];
  /** Field number in TypeProto for values that are not tensors: 4 sequence, 5 map, 8 sparse tensor, 9 optional. */
  readonly kind?: number;
}

/** A model to be written. */
export interface ModelSpec {
  readonly irVersion?: number;
  readonly opset?: number;
  readonly inputs?: readonly ValueSpec[];
  readonly outputs?: readonly ValueSpec[];
  /** Encoded fields of GraphProto to be appended (nodes, initializers). */
  readonly graph?: readonly Uint8Array[];
  readonly metadata?: Readonly<Record<string, string>>;
}

/** A varint. */
export function varint(value: number | bigint): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  do {
    bytes.push(Number(rest & 0x7fn) | (rest > 0x7fn ? 0x80 : 0));
    rest >>= 7n;
  } while (rest > 0n);
  return Uint8Array.from(bytes);
}

/** A field holding an integer. */
export function integer(field: number, value: number | bigint): Uint8Array {
  return Buffer.concat([varint(field << 3), varint(value)]);
}

/** A field holding text, bytes or a message made of `parts`. */
export function block(field: number, ...parts: (Uint8Array | string)[]): Uint8Array {
  const body = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
  return Buffer.concat([varint((field << 3) | 2), varint(body.length), body]);
}

/** A node: operator, inputs, outputs, encoded attributes. */
export function node(
  operator: string,
  inputs: readonly string[],
  outputs: readonly string[],
  ...attributes: Uint8Array[]
): Uint8Array {
  const names = [...inputs.map((name) => block(1, name)), ...outputs.map((name) => block(2, name))];
  return block(1, ...names, block(4, operator), ...attributes);
}

/** An initializer of the graph, data inside. */
export function initializer(name: string, dims: readonly number[], raw: Uint8Array, type = 1): Uint8Array {
  return block(5, ...dims.map((dim) => integer(1, dim)), integer(2, type), block(8, name), block(9, raw));
}

/** The fields of a tensor whose data lie in another file. */
export function externalTensor(
  name: string,
  dims: readonly number[],
  location: string,
  place: { offset?: number; length?: number } = {},
): Uint8Array {
  const entries: Readonly<Record<string, string | number | undefined>> = { location, ...place };
  return Buffer.concat([
    ...dims.map((dim) => integer(1, dim)),
    integer(2, 1),
    block(8, name),
    ...Object.entries(entries).map(([key, value]) => block(13, block(1, key), block(2, String(value)))),
    integer(14, 1),
  ]);
}

/** An encoded ValueInfoProto. */
export function value({ name, type = 1, dims, kind = 1 }: ValueSpec): Uint8Array {
  if (kind !== 1) return Buffer.concat([block(1, name), block(2, block(kind, block(1, block(1, integer(1, type)))))]);
  const shape = dims?.map((dim) => {
    if (dim === undefined) return block(1);
    return typeof dim === 'number' ? block(1, integer(1, dim)) : block(1, block(2, dim));
  });
  const tensor = [integer(1, type), ...(shape === undefined ? [] : [block(2, ...shape)])];
  return Buffer.concat([block(1, name), block(2, block(1, ...tensor))]);
}

/** A whole file. Without a `graph` the outputs are identities of the inputs of the same rank in the list. */
export function onnxModel(spec: ModelSpec): Uint8Array {
  const { inputs = [], outputs = [], irVersion = 7, opset = 13 } = spec;
  const nodes = spec.graph ?? outputs.map((output, i) => node('Identity', [inputs[i]?.name ?? ''], [output.name]));
  return Buffer.concat([
    integer(1, irVersion),
    block(2, 'test'),
    block(
      7,
      ...nodes,
      block(2, 'g'),
      ...inputs.map((v) => block(11, value(v))),
      ...outputs.map((v) => block(12, value(v))),
    ),
    block(8, integer(2, opset)),
    ...Object.entries(spec.metadata ?? {}).map(([key, text]) => block(14, block(1, key), block(2, text))),
  ]);
}
