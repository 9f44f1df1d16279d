/** What every row gets. */
export interface BenchContext {
  /** A scratch directory that is removed afterwards. */
  readonly folder: string;
  /** Rounds of alternating runs, and seconds of each. */
  readonly rounds: number;
  readonly seconds: number;
}

/** One line of the result table. */
export interface Row {
  readonly what: string;
  readonly ours: string;
  readonly reference: string;
  /** Our figure over the reference's, where there is one. */
  readonly ratio: string;
  readonly target: string;
}
