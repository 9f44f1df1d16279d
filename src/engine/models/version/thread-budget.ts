/** Divides the cores over all instances that exist or are being made. */
export class ThreadBudget {
  #instances = 0;

  constructor(readonly cores: number) {}

  /** Instances that share the cores. */
  get instances(): number {
    return this.#instances;
  }

  /** Threads that one instance may use inside an execution. */
  get share(): number {
    return Math.max(1, Math.floor(this.cores / Math.max(1, this.#instances)));
  }

  /** Counts instances in before they are made. */
  reserve(instances: number): void {
    this.#instances += instances;
  }

  /** Counts instances out that are gone or were never made. */
  release(instances: number): void {
    this.#instances -= instances;
  }
}
