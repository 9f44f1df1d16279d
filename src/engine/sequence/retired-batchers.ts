import type { Clock } from '../../base/clock.js';
import type { SequenceBatcher } from './slot.js';

interface Retired {
  /** Slots whose sequences have not ended. */
  held: number;
  readonly unused: () => void;
}

/** Batchers of instances that were taken out of service and still have sequences; each ends with its last one. */
export class RetiredBatchers {
  readonly #clock: Clock;
  readonly #retired = new Map<SequenceBatcher, Retired>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Those that still have sequences. */
  batchers(): Iterable<SequenceBatcher> {
    return this.#retired.keys();
  }

  /** Takes in a batcher and the number of slots that its sequences hold; `unused` is called when all of them have ended. */
  add(batcher: SequenceBatcher, held: number, unused: () => void): void {
    const retired = { held, unused };
    this.#retired.set(batcher, retired);
    this.#endIfUnused(batcher, retired);
  }

  /** A slot's sequence is over; false for a slot of a batcher that serves on. */
  release(batcher: SequenceBatcher): boolean {
    const retired = this.#retired.get(batcher);
    if (retired === undefined) return false;
    retired.held--;
    this.#endIfUnused(batcher, retired);
    return true;
  }

  #endIfUnused(batcher: SequenceBatcher, { held, unused }: Retired): void {
    if (held > 0) return;
    this.#retired.delete(batcher);
    // The slot's last request may just be on its way to the instance.
    this.#clock.nextTurn(() => {
      batcher.close();
      unused();
    });
  }
}
