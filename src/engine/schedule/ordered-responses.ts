import { Ring } from '../../base/ring.js';

/**
 * Releases responses in the order in which their requests were dispatched (`preserve_ordering`): a response waits until
 * every earlier request has had its final one. Several responses of one request stay together.
 */
export class OrderedResponses {
  readonly #slots = new Ring<OrderSlot>();
  #releasing = false;

  /** The slot of the next dispatched request. */
  slot(): OrderSlot {
    const slot = new OrderSlot(() => this.#release());
    this.#slots.push(slot);
    return slot;
  }

  #release(): void {
    // What a response that goes out brings about may be another response: the loop that is under way finds it.
    if (this.#releasing) return;
    this.#releasing = true;
    try {
      for (let head = this.#slots.at(0); head?.flush(); head = this.#slots.at(0)) {
        this.#slots.shift();
      }
    } finally {
      this.#releasing = false;
    }
  }
}

/** One request's slot in the order. */
export class OrderSlot {
  readonly #release: () => void;
  #held: (() => void)[] = [];
  #final = false;

  constructor(release: () => void) {
    this.#release = release;
  }

  /** Sends now if every earlier request is complete, else when it is. */
  deliver(send: () => void, final: boolean): void {
    this.#held.push(send);
    if (final) this.#final = true;
    this.#release();
  }

  /** Sends what is held; true when the request is complete. */
  flush(): boolean {
    while (this.#held.length > 0) {
      const held = this.#held;
      this.#held = [];
      for (const send of held) send();
    }
    return this.#final;
  }
}
