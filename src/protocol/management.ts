/** What the management calls of both protocols carry, as servers and clients share it: statistics, index, load. */

/** Count and total time of one kind of event. */
export interface StatisticDuration {
  readonly count: bigint;
  readonly ns: bigint;
}

/** Statistics of one version, as `statistics` returns them. */
export interface ModelStatistics {
  readonly name: string;
  readonly version: string;
  /** Milliseconds since the epoch; 0n = never. */
  readonly last_inference: bigint;
  readonly inference_count: bigint;
  readonly execution_count: bigint;
  readonly inference_stats: Readonly<
    Record<
      'success' | 'fail' | 'queue' | 'compute_input' | 'compute_infer' | 'compute_output' | 'cache_hit' | 'cache_miss',
      StatisticDuration
    >
  >;
  /** By response index. */
  readonly response_stats: ReadonlyMap<
    string,
    Readonly<
      Record<'compute_infer' | 'compute_output' | 'success' | 'fail' | 'empty_response' | 'cancel', StatisticDuration>
    >
  >;
  /** Ascending by batch size. */
  readonly batch_stats: readonly {
    readonly batch_size: bigint;
    readonly compute_input: StatisticDuration;
    readonly compute_infer: StatisticDuration;
    readonly compute_output: StatisticDuration;
  }[];
  readonly memory_usage: readonly { readonly type: string; readonly id: bigint; readonly byte_size: bigint }[];
}

/** State of a version of a model. */
export type ModelState = 'UNKNOWN' | 'READY' | 'UNAVAILABLE' | 'LOADING' | 'UNLOADING';

/** One entry of the repository index. `version` and `state` are absent for a model that was never touched. */
export interface IndexEntry {
  readonly name: string;
  readonly version?: string;
  readonly state?: ModelState;
  readonly reason?: string;
}

/** Parameters of a load call: `config` = JSON text of a configuration, `files` = path -> content. */
export interface LoadParameters {
  readonly config?: string;
  readonly files?: ReadonlyMap<string, Uint8Array>;
}
