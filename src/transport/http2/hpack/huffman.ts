/**
 * Huffman code of HPACK (RFC 7541, appendix B). The code is canonical: codes of one length are consecutive, in the order
 * of their symbols. So the lengths say everything; the last is that of the end-of-string symbol.
 */
// biome-ignore format: sixteen in a row show which symbol is which
const LENGTHS = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
  28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
  6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
  5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
  7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
  15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
  6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
  20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
  24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
  22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
  21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
  26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
  19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
  20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
  26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
  30,
];

const EOS = 256;

/** In a transition: a symbol was completed (it is in the low byte). */
const EMITS = 0x100;
/** In a transition: the bits since the last symbol are all ones and fewer than eight, so the string may end here. */
const ACCEPTS = 0x200;
/** A transition that no valid string takes. */
const FAILS = -1;

/**
 * The decoder's transitions: for each inner node of the code tree and each four bits that follow, the next node (from
 * bit 10 up) and the flags above. No code is shorter than five bits, so four bits complete one symbol at most.
 */
const TRANSITIONS: Int32Array = buildTransitions();

/** Decodes `bytes[start, end)` to a string with one character for each byte; undefined if it is not a valid encoding. */
export function decodeHuffman(bytes: Uint8Array, start: number, end: number): string | undefined {
  let text = '';
  let node = 0;
  let last = ACCEPTS;
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!;
    let next = TRANSITIONS[(node << 4) | (byte >> 4)]!;
    if (next === FAILS) return undefined;
    if ((next & EMITS) !== 0) text += CHARACTERS[next & 0xff]!;
    next = TRANSITIONS[((next >> 10) << 4) | (byte & 15)]!;
    if (next === FAILS) return undefined;
    if ((next & EMITS) !== 0) text += CHARACTERS[next & 0xff]!;
    node = next >> 10;
    last = next;
  }
  return (last & ACCEPTS) === 0 ? undefined : text;
}

const CHARACTERS: readonly string[] = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code));

interface Node {
  /** Index among the inner nodes. */
  readonly index: number;
  /** The bits that lead here are all ones, and how many. */
  readonly ones: boolean;
  readonly depth: number;
  readonly children: [Node | number | undefined, Node | number | undefined];
}

function buildTree(): Node[] {
  const nodes: Node[] = [];
  const add = (ones: boolean, depth: number): Node => {
    const node: Node = { index: nodes.length, ones, depth, children: [undefined, undefined] };
    nodes.push(node);
    return node;
  };
  add(true, 0);
  const symbols = LENGTHS.map((_, symbol) => symbol).sort((a, b) => LENGTHS[a]! - LENGTHS[b]! || a - b);
  let code = 0;
  let length = 0;
  for (const symbol of symbols) {
    code *= 2 ** (LENGTHS[symbol]! - length);
    length = LENGTHS[symbol]!;
    let node = nodes[0]!;
    for (let bit = length - 1; bit > 0; bit--) {
      const side = (code >>> bit) & 1;
      let child = node.children[side];
      if (child === undefined) {
        child = add(node.ones && side === 1, node.depth + 1);
        node.children[side] = child;
      }
      node = child as Node;
    }
    node.children[code & 1] = symbol;
    code++;
  }
  return nodes;
}

function buildTransitions(): Int32Array {
  const nodes = buildTree();
  const transitions = new Int32Array(nodes.length * 16);
  for (const from of nodes) {
    for (let bits = 0; bits < 16; bits++) {
      let node = from;
      let flags = 0;
      for (let bit = 3; bit >= 0; bit--) {
        const child = node.children[(bits >> bit) & 1];
        if (typeof child === 'number') {
          flags = child === EOS ? FAILS : EMITS | child;
          node = nodes[0]!;
        } else node = child!;
        if (flags === FAILS) break;
      }
      const accepts = node.ones && node.depth < 8 ? ACCEPTS : 0;
      transitions[(from.index << 4) | bits] = flags === FAILS ? FAILS : (node.index << 10) | flags | accepts;
    }
  }
  return transitions;
}
