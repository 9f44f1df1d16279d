/**
 * What is to be measured and how. A group of options is one file: its type, its defaults and its entries of the table
 * stand together there. Times are milliseconds unless the name says otherwise.
 */
import { helpText } from '../../base/options/help-text.js';
import type { OptionsDraft } from '../../base/options/option.js';
import { standardOptions } from '../../base/options/read-options.js';
import { CONNECTION_DEFAULTS, CONNECTION_OPTIONS, type ConnectionOptions } from './connection-options.js';
import { INPUT_DEFAULTS, INPUT_OPTIONS, type InputOptions } from './input-options.js';
import { LOAD_DEFAULTS, LOAD_OPTIONS, type LoadOptions } from './load-options.js';
import { MEASURE_DEFAULTS, MEASURE_OPTIONS, type MeasureOptions } from './measure-options.js';
import type { PerfOption } from './perf-option.js';
import { REPORT_DEFAULTS, REPORT_OPTIONS, type ReportOptions } from './report-options.js';
import { SEQUENCE_DEFAULTS, SEQUENCE_OPTIONS, type SequenceOptions } from './sequence-options.js';
import { TLS_DEFAULTS, TLS_OPTIONS, type TlsOptions } from './tls-options.js';

/** The options of a run, complete and frozen. */
export interface PerfOptions {
  readonly load: LoadOptions;
  readonly sequence: SequenceOptions;
  readonly measure: MeasureOptions;
  readonly input: InputOptions;
  readonly connection: ConnectionOptions;
  readonly tls: TlsOptions;
  readonly report: ReportOptions;
}

const DEFAULTS: PerfOptions = {
  load: LOAD_DEFAULTS,
  sequence: SEQUENCE_DEFAULTS,
  measure: MEASURE_DEFAULTS,
  input: INPUT_DEFAULTS,
  connection: CONNECTION_DEFAULTS,
  tls: TLS_DEFAULTS,
  report: REPORT_DEFAULTS,
};

/** A copy that may be changed; the values that hold when nothing is given, unless `options` are given. */
export function draftOf(options: PerfOptions = DEFAULTS): OptionsDraft<PerfOptions> {
  const { load, sequence, measure, input, connection, tls, report } = options;
  return {
    load: { ...load },
    sequence: { ...sequence },
    measure: { ...measure },
    input: { ...input },
    connection: { ...connection },
    tls: { ...tls },
    report: { ...report },
  };
}

/** Every option of `triton perf`, in the order of the help text. */
export const OPTION_TABLE: readonly PerfOption[] = [
  ...standardOptions('General', 'h'),
  ...CONNECTION_OPTIONS.model,
  ...LOAD_OPTIONS,
  ...SEQUENCE_OPTIONS,
  ...MEASURE_OPTIONS,
  ...INPUT_OPTIONS,
  ...CONNECTION_OPTIONS.server,
  ...TLS_OPTIONS,
  ...REPORT_OPTIONS,
  ...CONNECTION_OPTIONS.observed,
];

/** The help text of `triton perf`. */
export function perfHelp(): string {
  return helpText({ usage: 'triton perf -m MODEL [options]', options: OPTION_TABLE, defaults: DEFAULTS });
}
