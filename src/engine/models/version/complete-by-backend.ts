import { TritonError } from '../../../base/error.js';
import type { Backend, BackendOptions, ModelLocation } from '../../../contract/backend.js';
import type { ModelConfig } from '../../../protocol/proto/model-config.js';
import { cancellable } from './load-cancelled.js';

/** How long the completion of a configuration may take when the options do not say, in seconds. */
const DEFAULT_COMPLETION_SECONDS = 120;

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
  const text =
    `the configuration of model '${config.name}' was not completed within ${seconds} s: complete it in config.pbtxt, or ` +
    'allow more time with --model-completion-timeout';
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

/** Takes over what a backend may change when it completes a configuration. */
function mergeCompleted(config: ModelConfig, completed: ModelConfig): ModelConfig {
  const merged = { ...config };
  merged.max_batch_size = completed.max_batch_size;
  merged.input = completed.input;
  merged.output = completed.output;
  const scheduled = config.dynamic_batching ?? config.sequence_batching ?? config.ensemble_scheduling;
  if (scheduled === undefined) {
    merged.dynamic_batching = completed.dynamic_batching;
    merged.sequence_batching = completed.sequence_batching;
  }
  if (completed.model_transaction_policy !== undefined) {
    merged.model_transaction_policy = completed.model_transaction_policy;
  }
  return merged;
}
