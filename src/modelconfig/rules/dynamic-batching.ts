/** Rules of the dynamic batcher. */

import type { Faults } from '../../contract/fault.js';
import type { FieldPath } from '../../contract/finding.js';
import { type ModelConfig, type ModelQueuePolicy, TimeoutAction } from '../../protocol/proto/model-config.js';

/** Checks `dynamic_batching`. */
export function checkDynamicBatching(config: ModelConfig, faults: Faults): void {
  const batching = config.dynamic_batching;
  if (batching === undefined) return;
  const { name } = config;
  const at = (...path: FieldPath): FieldPath => ['dynamic_batching', ...path];
  for (const [i, size] of batching.preferred_batch_size.entries()) {
    const path = at('preferred_batch_size', i);
    if (size <= 0) {
      faults.add('preferred-batch-size', path, `dynamic batching preferred size must be positive for ${name}`);
    } else if (size > config.max_batch_size) {
      faults.add(
        'preferred-batch-size',
        path,
        `dynamic batching preferred size must be <= max batch size for ${name}`,
        `Set max_batch_size to at least ${size} (it is ${config.max_batch_size}), or prefer smaller batches.`,
      );
    }
  }
  const levels = batching.priority_levels;
  const outside = (level: bigint): boolean => level === 0n || level > levels;
  if (levels !== 0n) {
    if (outside(batching.default_priority_level)) {
      faults.add(
        'default-priority-level',
        at('default_priority_level'),
        `default priority level must be in range [1, ${levels}] for ${name}`,
      );
    }
    for (const level of batching.priority_queue_policy.keys()) {
      if (outside(level)) {
        faults.add(
          'priority-queue-level',
          at('priority_queue_policy', level),
          `priority queue policy must have priority level in range [1, ${levels}] for ${name}`,
        );
      }
    }
  }
  if (!batching.preserve_ordering) return;
  if (levels > 1n) {
    faults.add(
      'preserve-ordering-priorities',
      at('priority_levels'),
      `Only one priority level is allowed when 'preserve_ordering' is true for ${name}`,
    );
  }
  const policies: readonly (readonly [FieldPath, ModelQueuePolicy | undefined])[] = [
    [at('default_queue_policy'), batching.default_queue_policy],
    ...[...batching.priority_queue_policy].map(
      ([level, policy]) => [at('priority_queue_policy', level), policy] as const,
    ),
  ];
  for (const [path, policy] of policies) {
    if (policy === undefined || policy.default_timeout_microseconds === 0n) continue;
    if (policy.timeout_action === TimeoutAction.values.DELAY) {
      faults.add(
        'preserve-ordering-delay',
        [...path, 'timeout_action'],
        `Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true for ${name}`,
      );
    }
  }
}
