import path from 'node:path';
import type { Finding } from '../../contract/finding.js';
import type { ValidationReport } from '../../tools/validate-repository.js';
import { SourceLines } from './source-lines.js';
import { notRunText } from './text-report.js';

/**
 * Workflow commands of GitHub Actions: each finding becomes an annotation at its line. Paths are relative to the working
 * directory, which is the checkout in a workflow.
 */
export async function reportGithub(report: ValidationReport): Promise<string> {
  const sources = new SourceLines();
  const lines: string[] = [];
  for (const finding of report.findings) lines.push(await annotation(finding, sources));
  if (report.notRun > 0) lines.push(`::notice title=python-not-run::${escapeData(notRunText(report.notRun))}\n`);
  return lines.join('');
}

async function annotation(finding: Finding, sources: SourceLines): Promise<string> {
  const { severity, rule, message, serverMessage, details = [], remedy, file, position } = finding;
  const properties: string[] = [];
  if (file !== undefined) properties.push(`file=${escapeProperty(path.relative('', file) || '.')}`);
  if (file !== undefined && position !== undefined) {
    const line = await sources.line(file, position);
    properties.push(`line=${position.line}`, `col=${(line?.units ?? position.column - 1) + 1}`);
  }
  properties.push(`title=${escapeProperty(rule)}`);
  const texts = [message.trimEnd(), ...details];
  if (serverMessage !== undefined) texts.push(`server: ${serverMessage}`);
  if (remedy !== undefined) texts.push(`help: ${remedy}`);
  return `::${severity} ${properties.join(',')}::${escapeData(texts.join('\n'))}\n`;
}

function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
