/**
 * What the engine, the repositories and the backends report. The server writes it in Triton's line format;
 * tests collect it. Messages are Triton's to the letter where it has the same.
 */
export interface Log {
  info(message: string): void;
  warning(message: string): void;
  error(message: string): void;
  /** Shown when the verbose level is at least `level` (1 and up). */
  verbose(level: number, message: string): void;
  /** Whether records of this level are shown: spares making texts that nobody sees. */
  isVerbose?(level: number): boolean;
  /** A record of a model's own code, with the place that wrote it (`model.py:12`). Shown as the level's records are. */
  located?(level: 'info' | 'warning' | 'error' | 'verbose', source: string, message: string): void;
  /** A line of its own on the error stream, without preamble and whatever the settings: parse errors of configurations. */
  plain?(line: string): void;
}

/** A log that drops everything. */
export const silentLog: Log = { info() {}, warning() {}, error() {}, verbose() {} };
