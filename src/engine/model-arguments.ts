/** Names and versions of models as calls give them. */
import { invalidArg } from '../base/error.js';

const LARGEST_VERSION = 2n ** 63n - 1n;

/**
 * The version that a request means by what it gives as one: '' = none given. It is read as C++'s `std::stol` does: blanks
 * before the number and anything behind it are tolerated. Throws INVALID_ARG for what is not a version number.
 */
export function parseVersionArgument(given: string): string {
  if (given === '') return '';
  const digits = /^\s*([-+]?\d+)/.exec(given)?.[1];
  const value = digits === undefined ? undefined : BigInt(digits.replace(/^\+/, ''));
  if (value === undefined || value > LARGEST_VERSION || value < -LARGEST_VERSION - 1n) {
    throw invalidArg(
      `failed to get model version from specified version string '${given}' (details: stol), ` +
        'version should be an integral value > 0',
    );
  }
  if (value < 0n) {
    throw invalidArg(`invalid model version specified '${given}' , version should be an integral value > 0`);
  }
  return String(value);
}

/** Throws INVALID_ARG for a name under which no model can be loaded. */
export function checkModelName(name: string): void {
  const trimmed = name.trim();
  if (trimmed === '') throw invalidArg('Model name cannot be empty. Please enter a valid name to deploy.');
  if (trimmed === '..' || trimmed.includes('/')) {
    throw invalidArg(`invalid model name '${name}', model name must not contain path traversal characters`);
  }
}
