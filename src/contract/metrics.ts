/** Metric families beside the server's own: what models and backends make, and what the metrics endpoint shows of them. */

/** Kinds of families, in the numbering of the Python module. */
export const METRIC_KINDS = ['COUNTER', 'GAUGE', 'HISTOGRAM'] as const;

/** Kind of a family. */
export type MetricKind = (typeof METRIC_KINDS)[number];

/** One series: its labels and its value, or the counts of a histogram. */
export interface CustomSeries {
  readonly labels: Readonly<Record<string, string>>;
  /** Value of a counter or gauge, sum of a histogram's observations. */
  readonly value: number;
  /** Upper bounds of a histogram's buckets, ascending, without infinity; undefined for the other kinds. */
  readonly bounds: readonly number[] | undefined;
  /** Observations in each bucket alone, the one without bound last. */
  readonly counts: readonly number[];
}

/** A family as the metrics endpoint shows it. */
export interface CustomFamily {
  readonly name: string;
  readonly description: string;
  readonly kind: MetricKind;
  readonly series: readonly CustomSeries[];
}

/** A hold on a family. */
export interface FamilyHandle {
  /** A hold on the series with these labels, which is made if there is none. Throws for bad labels or buckets. */
  metric(labels: Readonly<Record<string, string>>, buckets: readonly number[]): MetricHandle;
  /** Gives the hold up; the last one takes the family away. */
  release(): void;
}

/** A hold on a series, with the operations that its kind has. The others throw UNSUPPORTED. */
export interface MetricHandle {
  /** Adds to a counter or gauge. Throws for a counter's negative steps. */
  increment(step: number): void;
  /** Sets a gauge. */
  set(value: number): void;
  /** Adds an observation to a histogram. */
  observe(value: number): void;
  /** Value of a counter or gauge. */
  value(): number;
  /** Gives the hold up; the last one takes the series away. */
  release(): void;
}

/** The metric families that models and backends make, of one server. */
export interface MetricFamilies {
  /** A hold on the family of a name, which is made if there is none. Throws for a bad name or another kind. */
  family(name: string, description: string, kind: MetricKind): FamilyHandle;
}
