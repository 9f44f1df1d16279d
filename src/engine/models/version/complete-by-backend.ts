import { TritonError } from '../../../base/error.js';
import type { Backend, BackendOptions, ModelLocation } from '../../../contract/backend.js';
import {
  completionTimeText,
  DEFAULT_COMPLETION_SECONDS,
  mergeCompleted,
} from '../../../modelconfig/complete/merge-completed.js';
import type { ModelConfig } from '../../../protocol/proto/model-config.js';
import { cancellable } from './load-cancelled.js';

/**
 * A configuration as the backend completes it from the model's file, within the time that this may take; as it is where
 * the backend completes none. Throws UNAVAILABLE when the time is over.
 */
export async function completeByBackend(
  backend: Backend,
  location: ModelLocation,
  config: ModelConfig,
  options: BackendOptions & { readonly modelCompletionSeconds: number | undefined },
): Promise<ModelConfig> {
  const { modelCompletionSeconds: seconds = DEFAULT_COMPLETION_SECONDS, ...backendOptions } = options;
  const late = new AbortController();
  const text = completionTimeText(config.name, seconds);
  const end = (): void => late.abort(new TritonError('UNAVAILABLE', text));
  const timer = seconds === 0 ? undefined : setTimeout(end, seconds * 1000);
  const { cancelled: load } = backendOptions;
  const cancelled = load === undefined ? late.signal : AbortSignal.any([load, late.signal]);
  try {
    const completing = backend.autoComplete?.(location, config, { ...backendOptions, cancelled });
    if (completing === undefined) return config;
    return mergeCompleted(config, await cancellable(completing, cancelled, () => {}));
  } finally {
    clearTimeout(timer);
  }
}
