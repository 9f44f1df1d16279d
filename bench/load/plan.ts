/** What the load generator is to do; JSON between two processes. */
export interface LoadPlan {
  readonly protocol: 'http' | 'grpc';
  readonly port: number;
  /** URL path, or gRPC method path. */
  readonly path: string;
  /** HTTP only. */
  readonly headers: Readonly<Record<string, string>>;
  /** File with the request body (HTTP) or the message (gRPC). */
  readonly bodyFile: string;
  readonly concurrency: number;
  /** Ends after that time, or after that many requests. */
  readonly seconds: number;
  readonly requests?: number;
}

/** What it measured. */
export interface LoadResult {
  readonly count: number;
  readonly seconds: number;
  readonly p50Us: number;
  readonly p99Us: number;
}
