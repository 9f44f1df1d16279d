/** The forms in which `triton repo validate` prints what it found. */
import { readFile } from 'node:fs/promises';
import type { Finding, Position } from '../modelconfig/finding.js';
import type { ValidationReport } from '../repository/validate-repository.js';

const TAB_WIDTH = 8;

/** One JSON object. Members that a finding does not have are left out. */
export function reportJson(report: ValidationReport): string {
  const { repositories, models, findings } = report;
  const [errors, warnings] = count(findings);
  const shown = findings.map(({ position, ...finding }) => ({ ...finding, ...position }));
  return `${JSON.stringify({ repositories, models: models.length, errors, warnings, findings: shown }, null, 2)}\n`;
}

/** Each finding with the line it is about, a caret, and how to mend it; a line of sums at the end. */
export async function reportText(report: ValidationReport): Promise<string> {
  const sources = new Map<string, readonly Buffer[]>();
  const parts: string[] = [];
  for (const finding of report.findings) parts.push(await findingText(finding, sources));
  const [errors, warnings] = count(report.findings);
  const models = plural(report.models.length, 'model');
  parts.push(`${models}: ${plural(errors, 'error')}, ${plural(warnings, 'warning')}\n`);
  return parts.join('');
}

async function findingText(finding: Finding, sources: Map<string, readonly Buffer[]>): Promise<string> {
  const { file = '', position, severity, rule, message, serverMessage, remedy } = finding;
  const place = position === undefined ? file : `${file}:${position.line}:${position.column}`;
  const lines = [`${place}: ${severity}: ${message} [${rule}]`];
  if (position !== undefined) lines.push(...(await excerpt(file, position, sources)));
  if (serverMessage !== undefined) lines.push(`  server: ${serverMessage}`);
  if (remedy !== undefined) lines.push(`  help: ${remedy}`);
  return lines.map((line) => `${line}\n`).join('');
}

/** The offending line with tabs as blanks, and a caret under the column; nothing past the end of the file. */
async function excerpt(
  file: string,
  position: Position,
  sources: Map<string, readonly Buffer[]>,
): Promise<readonly string[]> {
  let source = sources.get(file);
  if (source === undefined) {
    source = splitLines(await readFile(file).catch(() => Buffer.alloc(0)));
    sources.set(file, source);
  }
  const line = source[position.line - 1];
  if (line === undefined || line.length === 0) return [];
  const { text, caret } = expand(line, position.column - 1);
  return [`    ${text}`, `    ${' '.repeat(caret)}^`];
}

function splitLines(bytes: Buffer): readonly Buffer[] {
  const lines: Buffer[] = [];
  let start = 0;
  for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a, start)) {
    lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
  lines.push(bytes.subarray(start));
  return lines;
}

/** Columns count bytes, and a tab moves to the next multiple of 8; `caret` counts the characters that are printed. */
function expand(line: Buffer, column: number): { text: string; caret: number } {
  let at = 0;
  let caret = -1;
  let text = '';
  for (const char of line.toString('utf8').replace(/\r$/, '')) {
    if (caret < 0 && at >= column) caret = [...text].length;
    const width = char === '\t' ? TAB_WIDTH - (at % TAB_WIDTH) : Buffer.byteLength(char);
    text += char === '\t' ? ' '.repeat(width) : char;
    at += width;
  }
  return { text, caret: caret < 0 ? [...text].length : caret };
}

function count(findings: readonly Finding[]): readonly [errors: number, warnings: number] {
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  return [errors, findings.length - errors];
}

function plural(n: number, word: string): string {
  return `${n} ${word}${n === 1 ? '' : 's'}`;
}
