import path from 'node:path';
import type { Log } from '../../../base/log.js';
import type { FrameReader } from '../wire/frame-reader.js';

const LEVELS = ['info', 'warning', 'error', 'verbose'] as const;

/** Writes a record that a model sent, with the place in the model that wrote it. */
export function logRecord(log: Log, frame: FrameReader): void {
  const level = LEVELS[frame.u8()] ?? 'info';
  const file = frame.text();
  const line = frame.u32();
  const message = frame.text();
  if (log.located !== undefined) log.located(level, `${sourceName(file)}:${line}`, message);
  else if (level === 'verbose') log.verbose(1, message);
  else log[level](message);
}

/** The name of a file as records show it: a hyphen, a blank or what ends the preamble would mislead tools that take records apart. */
function sourceName(file: string): string {
  return path.basename(file).replace(/[-\s:\]]/g, '_');
}
