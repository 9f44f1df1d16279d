/** The two formats of log records, as Triton has them. */

/** Level letter of a record. Verbose records are shown as I. */
export type LogLevel = 'I' | 'W' | 'E';

/** `default` = `I0624 10:00:00.123456 1 file:line] `, `ISO8601` = `2026-06-24T10:00:00Z I 1 file:line] `. Both in UTC. */
export type LogFormat = 'default' | 'ISO8601';

/** True when the string names a log format (exact and case-sensitive). */
export function isLogFormat(text: string): text is LogFormat {
  return text === 'default' || text === 'ISO8601';
}

/**
 * Everything before the message, blank included. `microseconds` since the epoch; `source` is `file:line` of the caller.
 */
export function formatPreamble(format: LogFormat, level: LogLevel, microseconds: number, source: string): string {
  const date = new Date(Math.floor(microseconds / 1000));
  if (format === 'ISO8601') return `${date.toISOString().slice(0, 19)}Z ${level} ${process.pid} ${source}] `;
  const iso = date.toISOString();
  const fraction = Math.floor(microseconds % 1e6)
    .toString()
    .padStart(6, '0');
  return `${level}${iso.slice(5, 7)}${iso.slice(8, 10)} ${iso.slice(11, 19)}.${fraction} ${process.pid} ${source}] `;
}
