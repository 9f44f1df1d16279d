/**
 * The known name that was probably meant: equal but for case, a few letters away (a third of the name at most), or
 * one that begins with it or that it begins with.
 * Undefined when none is near.
 */
export function nearestName(name: string, names: Iterable<string>): string | undefined {
  const known = [...names];
  let best: string | undefined;
  let least = Math.max(1, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    if (candidate === name || Math.abs(candidate.length - name.length) >= least) continue;
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < least) [best, least] = [candidate, distance];
  }
  return best ?? longerOrShorter(name, known);
}

/** Names of fewer letters begin too many others. */
const SHORTEST_BEGINNING = 4;

function longerOrShorter(name: string, known: Iterable<string>): string | undefined {
  for (const candidate of known) {
    const [short, long] = name.length < candidate.length ? [name, candidate] : [candidate, name];
    if (candidate !== name && short.length >= SHORTEST_BEGINNING && long.startsWith(short)) return candidate;
  }
  return undefined;
}

/** `Did you mean 'x'?` where a name is near, else undefined. */
export function didYouMean(name: string, known: Iterable<string>): string | undefined {
  const near = nearestName(name, known);
  return near === undefined ? undefined : `Did you mean '${near}'?`;
}

/** Letters to insert, remove, replace or swap with their neighbour. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(row[j - 1]! + 1, previous[j]! + 1, previous[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, before[j - 2]! + 1);
      row.push(cost);
    }
    before = previous;
    previous = row;
  }
  return previous[b.length]!;
}
