/** Findings in SARIF 2.1.0, the form that code scanning services read. */
import path from 'node:path';
import type { Finding } from '../../contract/finding.js';
import { RULES, type RuleName } from '../../contract/rule-table.js';
import type { ValidationReport } from '../../tools/validate-repository.js';
import { SourceLines } from './source-lines.js';
import { notRunText } from './text-report.js';

const SCHEMA = 'https://json.schemastore.org/sarif-2.1.0.json';
/** Base of relative paths: the working directory. */
const ROOT = 'SRCROOT';

/** A SARIF log with one run. `version` is that of this program. */
export async function reportSarif(report: ValidationReport, version: string): Promise<string> {
  const rules = [...new Set(report.findings.map(({ rule }) => rule))].sort();
  const sources = new SourceLines();
  const results: unknown[] = [];
  for (const finding of report.findings) results.push(await resultOf(finding, rules, sources));
  const driver = { name: 'triton repo validate', semanticVersion: version, rules: rules.map(ruleOf) };
  const run = {
    tool: { driver },
    columnKind: 'utf16CodeUnits',
    originalUriBaseIds: { [ROOT]: { uri: `${uriOf(process.cwd())}/` } },
    ...(report.notRun > 0 ? { invocations: [invocation(report.notRun)] } : {}),
    results,
  };
  return `${JSON.stringify({ $schema: SCHEMA, version: '2.1.0', runs: [run] }, null, 2)}\n`;
}

/** The place for what was left out. */
function invocation(notRun: number): unknown {
  const note = { level: 'note', message: { text: notRunText(notRun) } };
  return { executionSuccessful: true, toolExecutionNotifications: [note] };
}

function ruleOf(id: RuleName): unknown {
  const { about, remedy } = RULES[id];
  return { id, shortDescription: { text: about }, help: { text: remedy } };
}

async function resultOf(finding: Finding, rules: readonly RuleName[], sources: SourceLines): Promise<unknown> {
  const { rule, severity, message, serverMessage, details = [], remedy, model } = finding;
  const texts = [message.trimEnd(), ...details];
  if (serverMessage !== undefined) texts.push(`server: ${serverMessage}`);
  if (remedy !== undefined) texts.push(`help: ${remedy}`);
  return {
    ruleId: rule,
    ruleIndex: rules.indexOf(rule),
    level: severity,
    message: { text: texts.join('\n') },
    locations: await locationsOf(finding, sources),
    ...(model === undefined ? {} : { properties: { model } }),
  };
}

async function locationsOf({ file, position, model }: Finding, sources: SourceLines): Promise<unknown[]> {
  if (file === undefined) return [];
  const logical = model === undefined ? {} : { logicalLocations: [{ name: model, kind: 'module' }] };
  const artifactLocation = locationOf(file);
  if (position === undefined) return [{ physicalLocation: { artifactLocation }, ...logical }];
  const line = await sources.line(file, position);
  const region = {
    startLine: position.line,
    startColumn: (line?.units ?? position.column - 1) + 1,
    ...(line === undefined ? {} : { snippet: { text: line.raw } }),
  };
  return [{ physicalLocation: { artifactLocation, region }, ...logical }];
}

function locationOf(file: string): unknown {
  const relative = path.relative('', file) || '.';
  if (relative === '..' || relative.startsWith(`..${path.sep}`)) return { uri: uriOf(path.resolve(file)) };
  return { uri: relative.split(path.sep).map(encodeURIComponent).join('/'), uriBaseId: ROOT };
}

function uriOf(absolute: string): string {
  return `file://${absolute.split(path.sep).map(encodeURIComponent).join('/')}`;
}
