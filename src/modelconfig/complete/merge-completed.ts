import type { ModelConfig } from '../../protocol/proto/model-config.js';

/** How long the completion of a configuration may take when the options do not say, in seconds. */
export const DEFAULT_COMPLETION_SECONDS = 120;

/** Message for a completion that takes longer than that. */
export function completionTimeText(model: string, seconds: number): string {
  return (
    `the configuration of model '${model}' was not completed within ${seconds} s: complete it in config.pbtxt, or ` +
    'allow more time with --model-completion-timeout'
  );
}

/** Takes over what a backend may change when it completes a configuration. */
export function mergeCompleted(config: ModelConfig, completed: ModelConfig): ModelConfig {
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
