import type { Finding } from '../../contract/finding.js';

/** How many errors and warnings there are. */
export function countFindings(findings: readonly Finding[]): { readonly errors: number; readonly warnings: number } {
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  return { errors, warnings: findings.length - errors };
}
