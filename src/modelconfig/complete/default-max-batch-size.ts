import { invalidArg } from '../../base/error.js';

/** Key of the backend configuration. */
export const DEFAULT_MAX_BATCH_SIZE_KEY = 'default-max-batch-size';

/** Its default. */
export const DEFAULT_MAX_BATCH_SIZE = 4;

/**
 * The maximum batch size that auto-completion gives a model that batches.
 * `config` is the backend's configuration; throws INVALID_ARG when its value is not an integer.
 */
export function defaultMaxBatchSize(config: ReadonlyMap<string, string>): number {
  const text = config.get(DEFAULT_MAX_BATCH_SIZE_KEY);
  if (text === undefined) return DEFAULT_MAX_BATCH_SIZE;
  const digits = /^\s*([-+]?[0-9]+)/.exec(text)?.[1];
  if (digits === undefined) throw invalidArg(`failed to convert '${text}' to integral number`);
  return Number(digits);
}
