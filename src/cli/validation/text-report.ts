import type { Finding } from '../../contract/finding.js';
import type { ValidationReport } from '../../tools/validate-repository.js';
import { countFindings } from './count-findings.js';
import { SourceLines } from './source-lines.js';

/** Each finding with the line it is about, a caret, and how to fix it; a line of sums at the end. */
export async function reportText(report: ValidationReport): Promise<string> {
  const sources = new SourceLines();
  const parts: string[] = [];
  for (const finding of report.findings) parts.push(await findingText(finding, sources));
  if (report.notRun > 0) parts.push(`note: ${notRunText(report.notRun)}\n`);
  const { errors, warnings } = countFindings(report.findings);
  parts.push(`${plural(report.models.length, 'model')}: ${plural(errors, 'error')}, ${plural(warnings, 'warning')}\n`);
  return parts.join('');
}

/** How many models --no-run left out, in words. */
export function notRunText(count: number): string {
  return `the code of ${plural(count, 'model')} was not run (--no-run), so that a server may still refuse ${count === 1 ? 'it' : 'them'}`;
}

async function findingText(finding: Finding, sources: SourceLines): Promise<string> {
  const { file = '', position, severity, rule, message, serverMessage, remedy, details = [] } = finding;
  const place = position === undefined ? file : `${file}:${position.line}:${position.column}`;
  const lines = [`${place}: ${severity}: ${message.trimEnd()} [${rule}]`];
  const line = position === undefined ? undefined : await sources.line(file, position);
  if (line !== undefined) lines.push(`    ${line.text}`, `    ${' '.repeat(line.caret)}^`);
  for (const detail of details) lines.push(`  ${detail}`);
  if (serverMessage !== undefined) lines.push(`  server: ${serverMessage}`);
  if (remedy !== undefined) lines.push(`  help: ${remedy}`);
  return lines.map((text) => `${text}\n`).join('');
}

function plural(n: number, word: string): string {
  return `${n} ${word}${n === 1 ? '' : 's'}`;
}
