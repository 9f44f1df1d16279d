/** One of two shapes that are held against each other. */
export interface NamedShape {
  /** What the shape belongs to, as it stands in front of it. */
  readonly name: string;
  readonly dims: readonly (number | bigint)[];
}

/**
 * Two shapes one above the other, axis below axis, with the axes marked that do not fit; `fits` says which do. Axes that
 * only one of them has never fit.
 *
 *     model:         [-1, 3, 224, 224]
 *     configuration: [-1, 3, 225, 224]
 *                            ^^^
 */
export function compareShapes(
  first: NamedShape,
  second: NamedShape,
  fits: (a: bigint, b: bigint) => boolean,
): readonly string[] {
  const rank = Math.max(first.dims.length, second.dims.length);
  const width = Math.max(first.name.length, second.name.length) + 1;
  const rows = [first, second].map(({ name }) => `${`${name}:`.padEnd(width)} [`);
  let marks = ' '.repeat(width + 2);
  for (let axis = 0; axis < rank; axis++) {
    const [a, b] = [first.dims[axis], second.dims[axis]];
    const texts = [a, b].map((dim) => (dim === undefined ? '' : String(dim)));
    const size = Math.max(...texts.map((text) => text.length));
    const good = a !== undefined && b !== undefined && fits(BigInt(a), BigInt(b));
    const last = axis === rank - 1;
    for (const [i, text] of texts.entries()) {
      const shape = i === 0 ? first.dims : second.dims;
      const separator = axis + 1 < shape.length ? ', ' : axis + 1 === shape.length ? ']' : '';
      rows[i] += `${text.padStart(size)}${separator}`;
      if (!last && separator.length < 2) rows[i] += ' '.repeat(2 - separator.length);
    }
    marks += `${(good ? ' ' : '^').repeat(size)}${last ? '' : '  '}`;
  }
  for (const [i, { dims }] of [first, second].entries()) if (dims.length === 0) rows[i] = `${rows[i]!.trimEnd()}]`;
  return [...rows, marks].map((row) => row.trimEnd());
}
