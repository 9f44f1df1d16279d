/** One thing that was looked at. */
export interface Check {
  /** Short name, for programs: `node`, `cuda-libraries`. */
  readonly id: string;
  /** Short name, for people. */
  readonly title: string;
  /**
   * ok: nothing to do. warning: serving works, with a restriction. missing: something optional is not there. error: serving
   * is not possible.
   */
  readonly status: 'ok' | 'warning' | 'missing' | 'error';
  /** What was found, one fact a line. */
  readonly found: readonly string[];
  /** What follows from it. */
  readonly follows: string;
  /** What to install or change; undefined where there is nothing to do. */
  readonly remedy?: string;
  /** The facts, for programs. */
  readonly facts: Readonly<Record<string, unknown>>;
}
