/**
 * For each operator that can bound a run: the largest shapes that it can put out, and about how many steps it takes, from
 * the largest shapes of its inputs. An operator that is not here, above all those whose outputs or repetitions depend on
 * values (Loop, If, Scan, Range, Expand, NonZero, ...), has no bound. Shapes are upper bounds, dimension by dimension; every
 * rule grows with its inputs, so what holds for a shape holds for all smaller ones.
 */
import type { GraphNode, StoredTensor } from './graph-nodes.js';

/** A shape of which every dimension is at most the given one. */
export type ShapeBound = readonly number[];

/** What an operator is given. */
export interface OperatorInputs {
  readonly node: GraphNode;
  /** Bounds of its inputs; undefined where an optional one is left out. */
  readonly shapes: readonly (ShapeBound | undefined)[];
  /** Stored values of its inputs, for those that are constants of the file. */
  readonly stored: readonly (StoredTensor | undefined)[];
}

/** What an operator does at most. */
export interface OperatorBound {
  /** One per output of the node; outputs beyond the list are as large as the first. */
  readonly outputs: readonly ShapeBound[];
  readonly steps: number;
}

type Rule = (inputs: OperatorInputs) => OperatorBound | undefined;

/** Elements of a shape. */
export function elements(shape: ShapeBound): number {
  return shape.reduce((product, dim) => product * dim, 1);
}

/** The rule of an operator of the standard domain; undefined for those without a bound. */
export function operatorRule(operator: string): Rule | undefined {
  return RULES.get(operator);
}

const likeFirst: Rule = ({ shapes }) => {
  const first = shapes[0];
  return first === undefined ? undefined : { outputs: [first], steps: 4 * elements(first) };
};

const broadcast: Rule = ({ shapes }) => {
  let result: ShapeBound = [];
  for (const shape of shapes) if (shape !== undefined) result = larger(result, shape);
  return { outputs: [result], steps: elements(result) * shapes.length };
};

const matMul: Rule = ({ shapes: [a, b] }) => {
  if (a === undefined || b === undefined || a.length === 0 || b.length === 0) return undefined;
  const left = a.length === 1 ? [1, ...a] : a;
  const right = b.length === 1 ? [...b, 1] : b;
  const rows = left.at(-2)!;
  const columns = right.at(-1)!;
  const output = [...larger(left.slice(0, -2), right.slice(0, -2)), rows, columns];
  return { outputs: [output], steps: elements(output) * left.at(-1)! };
};

const gemm: Rule = ({ node, shapes: [a, b] }) => {
  if (a?.length !== 2 || b?.length !== 2) return undefined;
  const [rows, inner] = node.attributes.get('transA') ? [a[1]!, a[0]!] : [a[0]!, a[1]!];
  const columns = node.attributes.get('transB') ? b[0]! : b[1]!;
  return { outputs: [[rows, columns]], steps: rows * columns * (inner + 1) };
};

const transpose: Rule = ({ node, shapes: [input] }) => {
  if (input === undefined) return undefined;
  const order = node.attributes.get('perm');
  const output = Array.isArray(order) ? order.map((axis: number) => input[axis] ?? 1) : input.toReversed();
  return { outputs: [output], steps: 2 * elements(input) };
};

const flatten: Rule = ({ node, shapes: [input] }) => {
  if (input === undefined) return undefined;
  const axis = place(numberOf(node, 'axis', 1), input.length);
  return { outputs: [[elements(input.slice(0, axis)), elements(input.slice(axis))]], steps: elements(input) };
};

const concat: Rule = ({ node, shapes }) => {
  const first = shapes[0];
  if (first === undefined) return undefined;
  const axis = place(numberOf(node, 'axis', 0), first.length);
  const output = first.map((_, i) => {
    const dims = shapes.map((shape) => shape?.[i] ?? 0);
    return i === axis ? dims.reduce((a, b) => a + b, 0) : Math.max(...dims);
  });
  return { outputs: [output], steps: elements(output) };
};

const reduce: Rule = ({ node, shapes: [input], stored }) => {
  if (input === undefined) return undefined;
  const given = node.attributes.get('axes') ?? node.attributes.get('axis') ?? stored[1]?.integers;
  if (given === undefined && node.inputs.length > 1) return undefined;
  const every = node.operator.startsWith('Arg') ? [0] : input.map((_, i) => i);
  const list = typeof given === 'number' ? [given] : Array.isArray(given) ? (given as number[]) : every;
  const axes = new Set(list.map((axis) => place(axis, input.length)));
  const keep = numberOf(node, 'keepdims', 1) !== 0;
  // Kept dimensions of 1 keep their old size here: a bound need not be tight.
  const output = keep ? input : input.filter((_, i) => !axes.has(i));
  return { outputs: [output], steps: 2 * elements(input) };
};

const gather: Rule = ({ node, shapes: [data, indices] }) => {
  if (data === undefined || indices === undefined) return undefined;
  const axis = place(numberOf(node, 'axis', 0), data.length);
  const output = [...data.slice(0, axis), ...indices, ...data.slice(axis + 1)];
  return { outputs: [output], steps: 2 * elements(output) };
};

const reshape: Rule = ({ shapes: [input], stored }) => {
  const wanted = stored[1]?.integers;
  if (input === undefined || wanted === undefined) return undefined;
  const fixed = wanted.reduce((product, dim, i) => product * (dim === 0 ? (input[i] ?? 1) : Math.max(dim, 1)), 1);
  // A bound that may be too large in a 0-dimension must not make the open one too small: the input's size is always enough.
  const open = wanted.includes(0) ? elements(input) : Math.ceil(elements(input) / fixed);
  const output = wanted.map((dim, i) => (dim === -1 ? open : dim === 0 ? (input[i] ?? 1) : dim));
  return { outputs: [output], steps: elements(input) };
};

const unsqueeze: Rule = ({ node, shapes: [input], stored }) => {
  const given = node.attributes.get('axes') ?? stored[1]?.integers;
  if (input === undefined || !Array.isArray(given)) return undefined;
  const rank = input.length + given.length;
  const added = new Set(given.map((axis: number) => place(axis, rank)));
  const rest = [...input];
  const output = Array.from({ length: rank }, (_, i) => (added.has(i) ? 1 : (rest.shift() ?? 1)));
  return { outputs: [output], steps: elements(input) };
};

const squeeze: Rule = ({ node, shapes: [input], stored }) => {
  const given = node.attributes.get('axes') ?? stored[1]?.integers;
  if (input === undefined || !Array.isArray(given)) return undefined;
  const removed = new Set(given.map((axis: number) => place(axis, input.length)));
  return { outputs: [input.filter((_, i) => !removed.has(i))], steps: elements(input) };
};

/** Convolutions and pools: the image grows by its padding at most. */
const slide: Rule = ({ node, shapes: [input, weights] }) => {
  const isConv = node.operator === 'Conv';
  if (input === undefined || input.length < 3 || (isConv && weights?.length !== input.length)) return undefined;
  const kernel = isConv ? weights!.slice(2) : node.attributes.get('kernel_shape');
  const pads = node.attributes.get('pads');
  if (!Array.isArray(kernel)) return undefined;
  const spatial = input.slice(2).map((dim, i, all) => {
    const padding = Array.isArray(pads) ? (pads[i] ?? 0) + (pads[i + all.length] ?? 0) : (kernel[i] as number);
    return dim + Math.max(padding, 0);
  });
  const output = [input[0]!, isConv ? weights![0]! : input[1]!, ...spatial];
  const each = elements(kernel) * (isConv ? weights![1]! : 1);
  return { outputs: [output], steps: elements(output) * each };
};

const globalPool: Rule = ({ shapes: [input] }) =>
  input === undefined
    ? undefined
    : { outputs: [[...input.slice(0, 2), ...input.slice(2).map(() => 1)]], steps: elements(input) };

const constant: Rule = ({ node }) => (node.value === undefined ? undefined : { outputs: [node.value.dims], steps: 0 });

const RULES = new Map<string, Rule>([
  ...named(
    likeFirst,
    'Identity Cast Relu LeakyRelu Elu Selu Celu ThresholdedRelu Sigmoid HardSigmoid HardSwish Mish Gelu Softplus Softsign',
    'Tanh Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh Erf Exp Log Sqrt Reciprocal Abs Neg Sign Floor Ceil Round',
    'Not IsNaN IsInf Softmax LogSoftmax Hardmax Clip Dropout BatchNormalization LayerNormalization InstanceNormalization',
    'Slice Split CumSum',
  ),
  ...named(
    broadcast,
    'Add Sub Mul Div Mod Pow And Or Xor Equal Greater GreaterOrEqual Less LessOrEqual PRelu Max Min Sum Mean Where BitShift',
    'BitwiseAnd BitwiseOr BitwiseXor BitwiseNot',
  ),
  ...named(
    reduce,
    'ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare',
    'ArgMax ArgMin',
  ),
  ...named(slide, 'Conv MaxPool AveragePool'),
  ...named(globalPool, 'GlobalAveragePool GlobalMaxPool'),
  ['MatMul', matMul],
  ['Gemm', gemm],
  ['Transpose', transpose],
  ['Flatten', flatten],
  ['Concat', concat],
  ['Gather', gather],
  ['Reshape', reshape],
  ['Unsqueeze', unsqueeze],
  ['Squeeze', squeeze],
  ['Constant', constant],
]);

function named(rule: Rule, ...lists: string[]): [string, Rule][] {
  return lists.flatMap((list) => list.split(' ')).map((name) => [name, rule]);
}

/** The shape that two broadcast to at most. */
function larger(a: ShapeBound, b: ShapeBound): ShapeBound {
  const [long, short] = a.length >= b.length ? [a, b] : [b, a];
  const shift = long.length - short.length;
  return long.map((dim, i) => Math.max(dim, short[i - shift] ?? 0));
}

function place(axis: number, rank: number): number {
  return axis < 0 ? axis + rank : axis;
}

function numberOf(node: GraphNode, name: string, fallback: number): number {
  const value = node.attributes.get(name);
  return typeof value === 'number' ? value : fallback;
}
