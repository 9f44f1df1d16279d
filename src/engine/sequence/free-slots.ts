import { MinHeap } from '../../base/min-heap.js';
import type { SequenceBatcher, Slot } from './slot.js';

/**
 * The slots that no sequence holds. The one with the lowest index is given out first, of several instances' the first
 * instance's, so that sequences are spread over the instances. A slot exists from its first use on: a configuration that
 * allows a million sequences costs nothing until they come.
 *
 * Costs: linear in the number of instances, logarithmic in that of free slots.
 */
export class FreeSlots {
  /** By batcher: slots that have been used. */
  readonly #used = new Map<SequenceBatcher, MinHeap<Slot>>();

  /** Takes in a slot that no sequence holds any more. */
  add(slot: Slot): void {
    let slots = this.#used.get(slot.batcher);
    if (slots === undefined) {
      slots = new MinHeap<Slot>(({ index }) => index);
      this.#used.set(slot.batcher, slots);
    }
    slots.push(slot);
  }

  /**
   * Takes a slot of one of the batchers, in their order; undefined when there is none. An instance that is not healthy gets
   * no sequence while another is: it would fail the whole sequence.
   */
  take(batchers: readonly SequenceBatcher[]): Slot | undefined {
    const anyHealthy = batchers.some(({ healthy }) => healthy);
    let best: SequenceBatcher | undefined;
    let lowest = Number.POSITIVE_INFINITY;
    for (const batcher of batchers) {
      if (anyHealthy && !batcher.healthy) continue;
      const index = this.#used.get(batcher)?.peek()?.index ?? batcher.slots.length;
      if (index >= lowest || index >= batcher.capacity) continue;
      best = batcher;
      lowest = index;
    }
    return best === undefined ? undefined : (this.#used.get(best)?.shift() ?? best.addSlot());
  }

  /** Forgets the free slots of a batcher, which gets no more sequences; returns how many of its used slots were free. */
  forget(batcher: SequenceBatcher): number {
    const free = this.#used.get(batcher)?.length ?? 0;
    this.#used.delete(batcher);
    return free;
  }
}
