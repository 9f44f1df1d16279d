import type { PerfOption } from './option.js';
import { OPTION_GROUPS } from './option-table.js';

/** The usage text: synopsis by groups, then what every option means. */
export function usage(program = 'triton perf'): string {
  const synopsis = OPTION_GROUPS.map(({ title, options }) => {
    const lines = options.filter((o) => !o.deprecated).map((o) => `\t${forms(o)}`);
    const old = options.filter((o) => o.deprecated).map((o) => `\t${forms(o)}`);
    if (old.length > 0) lines.push('\tDEPRECATED OPTIONS', ...old);
    return `${title === '' ? '' : `${title}: \n`}${lines.join('\n')}\n`;
  });
  const details = OPTION_GROUPS.map(({ title, options }) => {
    const lines = options.map((o) => `${forms(o)}\n\t${o.help}`);
    return `${title === '' ? '' : `${title}: \n`}${lines.join('\n')}\n`;
  });
  return `Usage: ${program} [options]\n==== SYNOPSIS ====\n \n${synopsis.join('\n')}\n==== OPTIONS ==== \n \n${details.join('\n')}`;
}

function forms({ name, short, value }: PerfOption): string {
  const letter = short === undefined ? '' : `-${short}`;
  const names = name === '' ? letter : `--${name}${letter === '' ? '' : ` (${letter})`}`;
  return value === undefined ? names : `${names} <${value}>`;
}
