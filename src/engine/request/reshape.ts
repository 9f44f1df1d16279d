/**
 * Maps a shape from one side of a `reshape` to the other: `from` and `to` are configured shapes, `shape` matches
 * `from`; values at the -1 of `from` go to the -1 of `to` in their order. `batch`: dimension 0 is kept in front.
 */
export function mapReshape(
  shape: readonly number[],
  from: readonly number[],
  to: readonly number[],
  batch: boolean,
): readonly number[] {
  const offset = batch ? 1 : 0;
  const result: number[] = batch ? [shape[0]!] : [];
  let cursor = 0;
  for (const dim of to) {
    if (dim !== -1) {
      result.push(dim);
      continue;
    }
    while (cursor < from.length && from[cursor] !== -1) cursor++;
    result.push(shape[cursor + offset] ?? -1);
    cursor++;
  }
  return result;
}
