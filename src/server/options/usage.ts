import { OPTION_TABLE } from './option-table.js';

/** The line that goes before every error about the command line. */
export const USAGE_LINE = "Usage: triton serve [options]   ('triton serve --help' lists them)";

/** The complete help text, grouped as the table is. */
export function usageText(): string {
  let text = 'Usage: triton serve [options]\n';
  let group = '';
  for (const option of OPTION_TABLE) {
    if (option.group !== group) {
      group = option.group;
      text += `\n${group}:\n`;
    }
    const argument = option.argument === undefined ? '' : ` ${argumentText(option.argument)}`;
    text += `  --${option.name}${argument}\n${wrapWords(option.help, 60)}\n`;
  }
  return text;
}

function argumentText(argument: string): string {
  return argument.startsWith('<') ? argument : `<${argument}>`;
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
