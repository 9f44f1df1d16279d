/** Above this many names a set is faster than looking at each. */
const FEW = 8;

/** Names that must not repeat. A handful costs no set; any number costs no more than linear time. */
export class UniqueNames {
  readonly #few: string[] = [];
  #many: Set<string> | undefined;

  /** False when the name was there already. */
  add(name: string): boolean {
    if (this.#many === undefined) {
      if (this.#few.includes(name)) return false;
      if (this.#few.push(name) > FEW) this.#many = new Set(this.#few);
      return true;
    }
    if (this.#many.has(name)) return false;
    this.#many.add(name);
    return true;
  }
}
