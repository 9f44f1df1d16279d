import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { simulateSequences } from '../../../test/support/engine/sequence-simulation.js';

/** Full size: `TRITON_SIMULATION_ARRIVALS=100000 node --test dist/src/engine/sequence/sequence-simulation.test.js`. */
const ARRIVALS = Number(process.env['TRITON_SIMULATION_ARRIVALS'] ?? 1000);

/** Nothing lost, doubled, reordered or starved; limits, slots, controls and states right: asserted in the simulation. */
describe(`simulation of ${ARRIVALS} requests`, () => {
  for (const [name, strategy, instances, maxBatchSize] of [
    ['direct', 'direct {}', 3, 4],
    ['direct, delayed', 'direct { max_queue_delay_microseconds: 3000 minimum_slot_utilization: 0.75 }', 2, 8],
    ['oldest', 'oldest { max_candidate_sequences: 6 preferred_batch_size: [4] }', 2, 4],
    [
      'oldest, delayed and ordered',
      `oldest { max_candidate_sequences: 12 preferred_batch_size: [2, 4] max_queue_delay_microseconds: 4000
        preserve_ordering: true }`,
      1,
      6,
    ],
    ['iterative, direct', 'iterative_sequence: true direct {}', 2, 4],
    [
      'iterative, oldest',
      'iterative_sequence: true oldest { max_candidate_sequences: 5 preferred_batch_size: [4] }',
      2,
      4,
    ],
  ] as const) {
    test(name, { timeout: 600_000 }, async () => {
      const outcome = await simulateSequences({
        seed: 7,
        arrivals: ARRIVALS,
        clients: 40,
        instances,
        maxBatchSize,
        strategy,
      });
      // What is to be seen was seen: a simulation in which it does not happen proves nothing.
      assert.ok(
        outcome.accepted > ARRIVALS / 2 && outcome.cancelled > 0 && outcome.expired > 0,
        JSON.stringify(outcome),
      );
      assert.ok(strategy.startsWith('iterative') || (outcome.refused > 0 && outcome.conflicts > 0));
      assert.ok(outcome.largestBatch >= 4);
      assert.ok(outcome.batches < outcome.executed);
    });
  }
});
