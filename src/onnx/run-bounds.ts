/** How much a run can do at most, known from the shapes of its inputs alone. */
import { type GraphNode, type GraphNodes, readGraphNodes, type StoredTensor } from './graph-nodes.js';
import { elements, operatorRule, type ShapeBound } from './operator-bounds.js';

/** No tensor inside a bounded run has more elements. */
const MAX_ELEMENTS = 64 * 1024;
/** A bounded run takes at most about this many multiplications and additions: well under 2 ms on one core. */
const MAX_STEPS = 2_000_000;
/** Larger graphs are not looked at: each operator costs the runtime about a microsecond. */
const MAX_NODES = 200;

/** Operators that can put out one long string many times. */
const REPEATING: ReadonlySet<string> = new Set(['Concat', 'Gather', 'Where']);

/** The bound of a graph's runs. */
export class RunBounds {
  readonly #graph: GraphNodes;

  private constructor(graph: GraphNodes) {
    this.#graph = graph;
  }

  /**
   * Reads a small model; undefined when its runs have no bound that shapes show. `takesStrings`: some input is a
   * tensor of strings, whose size the number of elements does not show.
   */
  static read(model: Buffer, takesStrings: boolean): RunBounds | undefined {
    const graph = readGraphNodes(model);
    if (graph.nodes.length > MAX_NODES) return undefined;
    const hasStrings = takesStrings || [...graph.stored.values()].some(({ isText }) => isText);
    const isBounded = ({ domain, operator }: GraphNode): boolean =>
      domain === '' && operatorRule(operator) !== undefined && !(hasStrings && REPEATING.has(operator));
    return graph.nodes.every(isBounded) ? new RunBounds(graph) : undefined;
  }

  /** True when a run on inputs of these shapes, and so on all smaller ones, is short and needs little memory. */
  allows(inputs: ReadonlyMap<string, ShapeBound>): boolean {
    for (const shape of inputs.values()) if (!(elements(shape) <= MAX_ELEMENTS)) return false;
    const shapes = new Map<string, ShapeBound>(inputs);
    const constants = new Map<string, StoredTensor>();
    for (const [name, tensor] of this.#graph.stored) {
      // What a request feeds for a name that has a stored value goes before it.
      if (shapes.has(name)) continue;
      constants.set(name, tensor);
      shapes.set(name, tensor.dims);
    }
    let steps = 0;
    for (const node of this.#graph.nodes) {
      const bound = operatorRule(node.operator)?.({
        node,
        shapes: node.inputs.map((name) => shapes.get(name)),
        stored: node.inputs.map((name) => constants.get(name)),
      });
      // A name that nothing gives a shape (a sparse constant, say) leaves the run without a bound.
      if (bound === undefined || node.inputs.some((name) => name !== '' && !shapes.has(name))) return false;
      steps += bound.steps + 1;
      for (const [i, name] of node.outputs.entries()) {
        const shape = (bound.outputs[i] ?? bound.outputs[0]) as ShapeBound;
        // Written so that a shape with a dimension that is not a number is refused, too.
        if (!(elements(shape) <= MAX_ELEMENTS)) return false;
        shapes.set(name, shape);
        if (node.value !== undefined) constants.set(name, node.value);
      }
      if (!(steps <= MAX_STEPS)) return false;
    }
    return true;
  }
}
