import { TritonError } from '../../base/error.js';
import { isLogFormat } from '../log/format.js';
import type { ServerLog } from '../log/server-log.js';

/** The log settings as both protocols show them, in their order. */
export interface LogSettingsView {
  readonly log_file: string;
  readonly log_info: boolean;
  readonly log_warning: boolean;
  readonly log_error: boolean;
  readonly log_verbose_level: number;
  readonly log_format: string;
}

/** Names of the settings that are switches. */
export const LOG_SWITCHES = { log_info: 'info', log_warning: 'warning', log_error: 'error' } as const;

/** The switchable part of the log, shared by HTTP and gRPC. */
export class LogSettingsStore {
  readonly #log: ServerLog;

  constructor(log: ServerLog) {
    this.#log = log;
  }

  view(): LogSettingsView {
    const { file, info, warning, error, verboseLevel, format } = this.#log.settings;
    return {
      log_file: file,
      log_info: info,
      log_warning: warning,
      log_error: error,
      log_verbose_level: verboseLevel,
      log_format: format,
    };
  }

  setSwitch(name: keyof typeof LOG_SWITCHES, value: boolean): void {
    this.#log.settings[LOG_SWITCHES[name]] = value;
  }

  setVerboseLevel(level: number): void {
    this.#log.settings.verboseLevel = level;
  }

  /** False for a string that does not name a format. */
  setFormat(format: string): boolean {
    if (!isLogFormat(format)) return false;
    this.#log.settings.format = format;
    return true;
  }

  /** The error for any attempt to set `log_file`. */
  static fileRefused(): TritonError {
    return new TritonError('UNSUPPORTED', 'log file location can not be updated through network protocol');
  }
}
