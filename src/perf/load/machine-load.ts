import { cpus } from 'node:os';

/** Idle time of all processors together, as a number of processors, since the last call (first call: since boot). */
export class MachineLoad {
  #idle = 0;
  #total = 0;
  #cores = 1;

  /** How many processors had nothing to do, on average. */
  idleCores(): number {
    let idle = 0;
    let total = 0;
    const all = cpus();
    for (const { times } of all) {
      idle += times.idle;
      total += times.user + times.nice + times.sys + times.irq + times.idle;
    }
    const share = total === this.#total ? 0 : (idle - this.#idle) / (total - this.#total);
    this.#idle = idle;
    this.#total = total;
    this.#cores = Math.max(1, all.length);
    return share * this.#cores;
  }
}
