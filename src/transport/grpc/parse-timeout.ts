const UNIT_MS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 0.001, n: 0.000_001 };

/** Milliseconds of a `grpc-timeout` value; undefined if it is none (it is then taken for no timeout). */
export function parseTimeout(value: string): number | undefined {
  const match = /^(\d{1,8})([HMSmun])$/.exec(value);
  return match === null ? undefined : Number(match[1]) * UNIT_MS[match[2]!]!;
}
