import type { GetoptSpec } from '../../base/options/getopt.js';
import { INPUT_OPTIONS } from './input-table.js';
import { MEASUREMENT_OPTIONS } from './measurement-table.js';
import type { PerfOption } from './option.js';
import { MODEL_OPTIONS, OTHER_OPTIONS } from './other-table.js';
import { SERVER_OPTIONS } from './server-table.js';

/** Every option in the groups of the usage text. */
export const OPTION_GROUPS: readonly { readonly title: string; readonly options: readonly PerfOption[] }[] = [
  { title: '', options: MODEL_OPTIONS },
  { title: 'I. MEASUREMENT PARAMETERS', options: MEASUREMENT_OPTIONS },
  { title: 'II. INPUT DATA OPTIONS', options: INPUT_OPTIONS },
  { title: 'III. SERVER DETAILS', options: SERVER_OPTIONS },
  { title: 'IV. OTHER OPTIONS', options: OTHER_OPTIONS },
];

/** Every option, by long name and by letter. */
export const OPTIONS: ReadonlyMap<string, PerfOption> = new Map(
  OPTION_GROUPS.flatMap((group) => group.options).map((option) => [option.name || (option.short as string), option]),
);

/** The same for getopt; `--help` is ours. */
export const GETOPT_SPECS: readonly GetoptSpec[] = [
  ...[...OPTIONS.values()].map(
    (option): GetoptSpec => ({
      name: option.name,
      ...(option.short === undefined ? {} : { short: option.short }),
      argument: option.value === undefined ? 'none' : 'required',
    }),
  ),
  { name: 'help', short: 'h', argument: 'none' },
];
