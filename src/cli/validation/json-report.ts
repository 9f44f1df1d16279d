import type { ValidationReport } from '../../tools/validate-repository.js';
import { countFindings } from './count-findings.js';
import { effectiveModels } from './effective.js';
import { stringifyJson } from './raw-json.js';

/**
 * One JSON object. Members that a finding does not have are left out. `showEffective` adds the completed configurations
 * in the form of the endpoint v2/models/<model>/config, with what was added.
 */
export function reportJson(report: ValidationReport, showEffective = false): string {
  const { repositories, models, findings, notRun } = report;
  const shown = findings.map(({ position, ...finding }) => ({ ...finding, ...position }));
  const effective = showEffective ? { effective: effectiveModels(report) } : {};
  const counts = { models: models.length, notRun, ...countFindings(findings) };
  const content = { repositories, ...counts, findings: shown, ...effective };
  return `${stringifyJson(content)}\n`;
}
