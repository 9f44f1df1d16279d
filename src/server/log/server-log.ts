import { closeSync, constants, openSync } from 'node:fs';
import { isatty } from 'node:tty';
import { systemText } from '../../base/files/system-text.js';
import type { Log } from '../../base/log.js';
import { jsonString } from '../../protocol/json/write-json.js';
import { formatPreamble, type LogFormat, type LogLevel } from './format.js';
import { LineOutput } from './line-output.js';
import { sourceOf } from './message-sources.js';
import { LAST_FLUSH_MS, processOutputs } from './process-outputs.js';
import { renderTable } from './table.js';

/** What can be switched while the server runs (and `file`, which cannot). */
export interface LogSettings {
  info: boolean;
  warning: boolean;
  error: boolean;
  /** 0 = no verbose records. */
  verboseLevel: number;
  format: LogFormat;
  /** Everything is appended to this file; '' = info to stdout, warnings and errors to stderr. */
  file: string;
}

/** Settings of a server that was given no log option. */
export const defaultLogSettings: LogSettings = {
  info: true,
  warning: true,
  error: true,
  verboseLevel: 0,
  format: 'default',
  file: '',
};

/** Where records go that do not go to a file. No call throws or blocks. */
export interface LogSink {
  stdout(text: string): void;
  stderr(text: string): void;
  /** Columns for tables. */
  readonly width: number;
  /** The destinations behind it, where lines can get lost. */
  outputs?(): readonly LineOutput[];
}

/** The streams of the process. Tables follow the terminal on stdout; 500 columns when there is none. */
export const processSink: LogSink = {
  stdout: (text) => processOutputs().stdout.write(text),
  stderr: (text) => processOutputs().stderr.write(text),
  get width() {
    // Asking the stream makes it, which changes flags of descriptors that other processes share.
    return isatty(1) ? process.stdout.columns || 500 : 500;
  },
  outputs() {
    const { stdout, stderr } = processOutputs();
    return stdout === stderr ? [stdout] : [stdout, stderr];
  },
};

/** Microseconds between the epoch and the start of the monotonic clock, so that records show microseconds. */
const EPOCH_US = performance.timeOrigin * 1000;

/** The server's log: Triton's record formats, streams and escaping. */
export class ServerLog implements Log {
  readonly settings: LogSettings;
  readonly #sink: LogSink;
  readonly #escape: boolean;
  #file: { readonly fd: number; readonly output: LineOutput } | undefined;

  /**
   * A log file that cannot be opened is reported in a warning; the log then goes to the streams, and the settings show
   * no file.
   */
  constructor(settings: LogSettings = { ...defaultLogSettings }, sink: LogSink = processSink) {
    this.settings = settings;
    this.#sink = sink;
    this.#escape = process.env['TRITON_SERVER_ESCAPE_LOG_MESSAGES'] !== '0';
    const failure = settings.file === '' ? undefined : this.#openFile(settings.file);
    for (const output of this.#outputs()) output.lossLine = (count, why) => this.#lossLine(count, why);
    if (failure === undefined) return;
    settings.file = '';
    this.warning(`${failure}; the log goes to standard output and standard error instead`);
  }

  /** Records that could not be written, and were dropped. */
  get dropped(): number {
    return this.#outputs().reduce((sum, output) => sum + output.dropped, 0);
  }

  info(message: string): void {
    if (this.settings.info) this.#record('I', message);
  }

  warning(message: string): void {
    if (this.settings.warning) this.#record('W', message);
  }

  error(message: string): void {
    if (this.settings.error) this.#record('E', message);
  }

  verbose(level: number, message: string): void {
    if (this.settings.verboseLevel >= level) this.#record('I', message);
  }

  located(level: 'info' | 'warning' | 'error' | 'verbose', source: string, message: string): void {
    const { settings } = this;
    const shown = level === 'verbose' ? settings.verboseLevel >= 1 : settings[level];
    if (!shown) return;
    const letter = level === 'warning' ? 'W' : level === 'error' ? 'E' : 'I';
    this.#write(letter, `${this.#preamble(letter, source)}${this.#escape ? jsonString(message) : message}\n`);
  }

  /** True when a verbose record of this level would be shown; spares building its text. */
  isVerbose(level: number): boolean {
    return this.settings.verboseLevel >= level;
  }

  /** A table as one info record: an empty first line, the table unescaped, an empty line. */
  table(columns: readonly string[], rows: readonly (readonly string[])[]): void {
    if (!this.settings.info) return;
    const table = renderTable(columns, rows, this.#sink.width);
    this.#write('I', `${this.#preamble('I', sourceOf(`| ${columns[0]} `))}\n${table}\n`);
  }

  plain(line: string): void {
    this.#sink.stderr(`${line}\n`);
  }

  close(): void {
    for (const output of this.#outputs()) output.flush(LAST_FLUSH_MS);
    if (this.#file !== undefined) closeSync(this.#file.fd);
    this.#file = undefined;
  }

  /** Opens the file; returns why that is not possible. A pipe as the file never blocks. */
  #openFile(file: string): string | undefined {
    const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK, O_NOCTTY } = constants;
    try {
      const fd = openSync(file, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY, 0o666);
      this.#file = { fd, output: LineOutput.of(fd) };
      return undefined;
    } catch (reason) {
      const { code } = reason as NodeJS.ErrnoException;
      return `the log file '${file}' cannot be opened: ${code === 'ENXIO' ? 'nobody reads this pipe' : systemText(reason)}`;
    }
  }

  #outputs(): readonly LineOutput[] {
    return this.#file === undefined ? (this.#sink.outputs?.() ?? []) : [this.#file.output];
  }

  #lossLine(count: number, why: string): string {
    const text = `${count} log records could not be written and were dropped: ${systemText({ code: why })}`;
    return `${this.#preamble('W', sourceOf(text))}${this.#escape ? jsonString(text) : text}\n`;
  }

  #record(level: LogLevel, message: string): void {
    this.#write(level, `${this.#preamble(level, sourceOf(message))}${this.#escape ? jsonString(message) : message}\n`);
  }

  #preamble(level: LogLevel, source: string): string {
    return formatPreamble(this.settings.format, level, EPOCH_US + performance.now() * 1000, source);
  }

  #write(level: LogLevel, text: string): void {
    if (this.#file !== undefined) this.#file.output.write(text);
    else if (level === 'I') this.#sink.stdout(text);
    else this.#sink.stderr(text);
  }
}
