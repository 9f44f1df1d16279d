/** Which instance executes the next batch. */
import type { InstanceRunner } from '../schedule/instance-runner.js';

/** The instances that a batcher gives batches to. */
export class Runners {
  #all: readonly InstanceRunner[];
  #next = 0;

  constructor(runners: readonly InstanceRunner[]) {
    this.#all = runners;
  }

  get length(): number {
    return this.#all.length;
  }

  /** Other instances serve from now on; returns those that are left out. */
  replace(runners: readonly InstanceRunner[]): readonly InstanceRunner[] {
    const left = this.#all.filter((runner) => !runners.includes(runner));
    this.#all = runners;
    this.#next = 0;
    return left;
  }

  /** True when some instances are not healthy, while others are. */
  get partlyHealthy(): boolean {
    return this.#usable() !== this.#all;
  }

  /** True when an instance takes a batch. */
  get anyIdle(): boolean {
    return this.#usable().some((runner) => runner.idle);
  }

  /**
   * The instance for the next batch; undefined when none takes one. Free instances take turns; one that accepts work ahead
   * of its end gets it when no other is free. Those that compete for resources go by their cost. One that is not healthy
   * gets nothing while another is: it would fail every request at once, and so be free for the next.
   */
  take(): InstanceRunner | undefined {
    const runners = this.#usable();
    if (runners[0]?.cost !== undefined) return cheapest(runners.filter((runner) => runner.idle));
    let ahead = -1;
    for (let i = 0; i < runners.length; i++) {
      const index = (this.#next + i) % runners.length;
      const runner = runners[index]!;
      if (!runner.idle) continue;
      if (runner.inFlight === 0) {
        this.#next = index + 1;
        return runner;
      }
      if (ahead < 0) ahead = index;
    }
    if (ahead < 0) return undefined;
    this.#next = ahead + 1;
    return runners[ahead];
  }

  /** The instances that may get work: the healthy ones, or all when none is. */
  #usable(): readonly InstanceRunner[] {
    const runners = this.#all;
    for (let i = 0; i < runners.length; i++) if (!runners[i]!.healthy) return healthyOf(runners);
    return runners;
  }
}

function cheapest(runners: readonly InstanceRunner[]): InstanceRunner | undefined {
  let best = runners[0];
  for (const runner of runners) if (runner.cost! < best!.cost!) best = runner;
  return best;
}

function healthyOf(runners: readonly InstanceRunner[]): readonly InstanceRunner[] {
  const healthy = runners.filter((runner) => runner.healthy);
  return healthy.length === 0 ? runners : healthy;
}
