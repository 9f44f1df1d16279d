import { invalidArg } from '../../protocol/error.js';

const LARGEST_VERSION = 2n ** 63n - 1n;

/**
 * The version that a request's text means: '' = none given. Read as C's stol does: blanks in front and text behind are
 * tolerated (spec: wire protocol, section 1.10).
 */
export function parseVersionArgument(text: string): string {
  if (text === '') return '';
  const digits = /^\s*([-+]?\d+)/.exec(text)?.[1];
  const value = digits === undefined ? undefined : BigInt(digits.replace(/^\+/, ''));
  if (value === undefined || value > LARGEST_VERSION || value < -LARGEST_VERSION - 1n) {
    throw invalidArg(
      `failed to get model version from specified version string '${text}' (details: stol), ` +
        'version should be an integral value > 0',
    );
  }
  if (value < 0n) {
    throw invalidArg(`invalid model version specified '${text}' , version should be an integral value > 0`);
  }
  return String(value);
}
