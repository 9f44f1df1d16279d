/**
 * The order in which Triton walks the inputs of a request: that of libstdc++'s unordered_map. It decides which of
 * several wrong inputs is named, so it is only computed when a request is refused.
 */

const MASK = (1n << 64n) - 1n;
const MULTIPLIER = 0xc6a4a7935bd1e995n;
const SEED = 0xc70f6907n;
/** Bucket counts through which a map grows. */
const BUCKET_COUNTS = [1n, 13n, 29n, 59n, 127n, 257n, 541n, 1109n];

/** Sorts names into the order of a map in which they were inserted one after the other. */
export function hashOrder(names: readonly string[]): string[] {
  let order: { name: string; hash: bigint }[] = [];
  let growth = 0;
  for (const name of names) {
    const entry = { name, hash: hashBytes(Buffer.from(name)) };
    let buckets = BUCKET_COUNTS[growth]!;
    if (BigInt(order.length + 1) > buckets && growth + 1 < BUCKET_COUNTS.length) {
      growth++;
      while (BigInt(order.length + 1) > BUCKET_COUNTS[growth]! && growth + 1 < BUCKET_COUNTS.length) growth++;
      buckets = BUCKET_COUNTS[growth]!;
      const before = order;
      order = [];
      for (const old of before) insert(order, old, buckets);
    }
    insert(order, entry, buckets);
  }
  return order.map((entry) => entry.name);
}

/** A new entry stands in front of its bucket, and the bucket, if it was empty, in front of all. */
function insert(order: { hash: bigint }[], entry: { hash: bigint }, buckets: bigint): void {
  const bucket = entry.hash % buckets;
  const place = order.findIndex((other) => other.hash % buckets === bucket);
  order.splice(Math.max(0, place), 0, entry);
}

/** MurmurHash64A, as `std::hash<std::string>` uses it on 64-bit machines. */
function hashBytes(bytes: Uint8Array): bigint {
  const mix = (value: bigint): bigint => {
    const first = (value * MULTIPLIER) & MASK;
    return ((first ^ (first >> 47n)) * MULTIPLIER) & MASK;
  };
  let hash = SEED ^ ((BigInt(bytes.length) * MULTIPLIER) & MASK);
  const whole = bytes.length - (bytes.length % 8);
  for (let i = 0; i < whole; i += 8) hash = ((hash ^ mix(little(bytes, i, 8))) * MULTIPLIER) & MASK;
  if (whole < bytes.length) hash = ((hash ^ little(bytes, whole, bytes.length - whole)) * MULTIPLIER) & MASK;
  hash = ((hash ^ (hash >> 47n)) * MULTIPLIER) & MASK;
  return hash ^ (hash >> 47n);
}

function little(bytes: Uint8Array, start: number, length: number): bigint {
  let value = 0n;
  for (let i = length - 1; i >= 0; i--) value = (value << 8n) | BigInt(bytes[start + i]!);
  return value;
}
