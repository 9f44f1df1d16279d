/** A small generator of reproducible random numbers (mulberry32) and what fuzzing does with bytes. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** 0 <= result < bound, an integer. */
  below(bound: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4294967296) * bound);
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }

  bytes(length: number): Buffer {
    const result = Buffer.alloc(length);
    for (let i = 0; i < length; i++) result[i] = this.below(256);
    return result;
  }
}

/** Numbers on which lengths and shapes go wrong. */
const NUMBERS = '0 1 -1 2147483647 2147483648 4294967295 9223372036854775807 18446744073709551616 1e308 -0 0x10'.split(
  ' ',
);
const TOKENS = ['\r\n', '\n', ':', ',', '"', '{', '[', ']', '}', '\0', ' ', '%00', 'null', 'chunked', '\u00ff'];

/** A seed input with one to four faults; some stay as they are. */
export function mutate(random: Random, seed: Buffer, others: readonly Buffer[]): Buffer {
  let bytes = seed;
  for (let faults = random.below(5); faults > 0; faults--) bytes = oneFault(random, bytes, others);
  return bytes;
}

function oneFault(random: Random, bytes: Buffer, others: readonly Buffer[]): Buffer {
  const at = random.below(bytes.length + 1);
  const end = Math.min(bytes.length, at + random.below(16));
  const splice = (middle: Buffer) => Buffer.concat([bytes.subarray(0, at), middle, bytes.subarray(end)]);
  switch (random.below(8)) {
    case 0: {
      const copy = Buffer.from(bytes);
      if (at < copy.length) copy[at] = (copy[at] as number) ^ (1 << random.below(8));
      return copy;
    }
    case 1:
      return splice(random.bytes(random.below(12)));
    case 2:
      return bytes.subarray(0, at);
    case 3:
      return splice(Buffer.from(random.pick(TOKENS), 'latin1'));
    case 4:
      return replaceNumber(random, bytes);
    case 5: {
      const other = random.pick(others);
      return Buffer.concat([bytes.subarray(0, at), other.subarray(random.below(other.length))]);
    }
    case 6:
      return Buffer.concat([bytes.subarray(0, end), bytes.subarray(at)]);
    default:
      return splice(Buffer.alloc(0));
  }
}

function replaceNumber(random: Random, bytes: Buffer): Buffer {
  const text = bytes.toString('latin1');
  const found = [...text.matchAll(/\d+/g)];
  if (found.length === 0) return bytes;
  const match = random.pick(found);
  const after = match.index + match[0].length;
  return Buffer.from(text.slice(0, match.index) + random.pick(NUMBERS) + text.slice(after), 'latin1');
}
