import type { Option } from './option.js';

/** What a help text consists of. */
export interface HelpForm<C> {
  /** What comes after `Usage: `. */
  readonly usage: string;
  /** Paragraphs between the usage and the options. */
  readonly about?: string;
  readonly options: readonly Option<C>[];
  /** Grouped options with the values that hold when nothing is given. */
  readonly defaults?: object;
}

/** The help text of a command: usage, then every option under the heading of its group, deprecated ones last. */
export function helpText<C>({ usage, about, options, defaults }: HelpForm<C>): string {
  const groups = new Map<string, string[]>();
  for (const option of options) {
    if (option.hidden) continue;
    const heading = option.deprecated ? 'Deprecated' : (option.group ?? 'Options');
    const lines = groups.get(heading) ?? [];
    lines.push(`  ${formsOf(option)}\n${wrapWords(`${option.help}${defaultOf(option, defaults)}`, 60)}\n`);
    groups.set(heading, lines);
  }
  const deprecated = groups.get('Deprecated');
  groups.delete('Deprecated');
  if (deprecated !== undefined) groups.set('Deprecated', deprecated);
  const parts = [...groups].map(([heading, lines]) => `\n${heading}:\n${lines.join('')}`);
  return `Usage: ${usage}\n${about === undefined ? '' : `\n${about}\n`}${parts.join('')}`;
}

/** `-p, --measurement-interval <msec>` */
function formsOf<C>({ name, short, argument }: Option<C>): string {
  const forms = [...(short === undefined ? [] : [`-${short}`]), ...(name === '' ? [] : [`--${name}`])].join(', ');
  if (argument === undefined) return forms;
  return /^[<["]/.test(argument) ? `${forms} ${argument}` : `${forms} <${argument}>`;
}

/** ` Default 8000.`, from the entry's own words or from the value itself; '' where nothing needs to be said. */
export function defaultOf<C>({ default: words, into }: Option<C>, defaults: object | undefined): string {
  const [group, member] = into ?? [];
  const groups = defaults as Record<string, Record<string, unknown>> | undefined;
  const value = words ?? (group === undefined ? undefined : groups?.[group]?.[member as string]);
  if (value === '' || !['string', 'number', 'boolean'].includes(typeof value)) return '';
  return ` Default ${value}.`;
}

function wrapWords(text: string, width: number): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + word.length + 1 > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  lines.push(line);
  return lines.map((part) => `\t${part}`).join('\n');
}
