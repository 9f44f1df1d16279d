/** How long batchers are held back after a model was loaded, for tests that must be deterministic. */
export interface StartDelay {
  /** Requests that must be queued; 0 = none. */
  readonly queued: number;
  /** Requests that must wait for a sequence's slot besides; looked at only where `queued` is not 0. */
  readonly backlogged: number;
}

/**
 * What the environment says (TRITONSERVER_DELAY_SCHEDULER, TRITONSERVER_BACKLOG_DELAY_SCHEDULER): test suites made for Triton
 * hold requests back so.
 */
export function startDelay(): StartDelay {
  return {
    queued: numberOf('TRITONSERVER_DELAY_SCHEDULER'),
    backlogged: numberOf('TRITONSERVER_BACKLOG_DELAY_SCHEDULER'),
  };
}

function numberOf(variable: string): number {
  const count = Number.parseInt(process.env[variable] ?? '', 10);
  return Number.isFinite(count) ? Math.max(0, count) : 0;
}
