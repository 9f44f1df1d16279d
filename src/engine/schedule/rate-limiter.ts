import { type Clock, SYSTEM_CLOCK } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import {
  type AvailableResource,
  GLOBAL,
  type NeededResource,
  neededResources,
  type Pools,
  poolOf,
  type ReadonlyPools,
  resourceLimits,
  sortedPools,
} from '../../repository/load/rate-limits.js';

/** An instance as the limiter sees it. */
export interface LimitedSpec {
  readonly deviceId: number;
  readonly resources: readonly NeededResource[];
  /** 0 counts as 1. An instance with priority 2 runs half as often as one with 1. */
  readonly priority: number;
}

/**
 * Decides which instance may execute next when they compete for resources (the option
 * `--rate-limit=execution_count`):
 *
 *   work for an instance --stage--> waiting instances --resources fit--> it executes --release--> resources are back
 *
 * Of those that wait the one goes first that has executed least, times its priority; of equals the one that waits
 * longest. Only the first is tried: one that needs much is not passed for ever by many that need little.
 */
export class RateLimiter {
  readonly #explicit: readonly AvailableResource[];
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #instances = new Set<LimitedInstance>();
  /** In the order of their staging. */
  readonly #staged: LimitedInstance[] = [];
  #limits: Pools = new Map();
  readonly #used: Pools = new Map();
  #granting = false;

  /** `explicit`: as the options give them; with any of them, a resource that is not among them counts as 0. */
  constructor(explicit: readonly AvailableResource[], log: Log, clock: Clock = SYSTEM_CLOCK) {
    this.#explicit = explicit;
    this.#log = log;
    this.#clock = clock;
  }

  /** Takes an instance in. Throws INVALID_ARG when it could never run. */
  register(spec: LimitedSpec): LimitedInstance {
    const instance = new LimitedInstance(this, spec);
    this.#instances.add(instance);
    try {
      this.#limits = resourceLimits(this.#instances, this.#explicit);
    } catch (reason) {
      this.remove(instance);
      throw reason;
    }
    this.#logLimits();
    return instance;
  }

  /** Takes an instance out that executes nothing any more. */
  remove(instance: LimitedInstance): void {
    if (!this.#instances.delete(instance)) return;
    this.#limits = resourceLimits(this.#instances, this.#explicit);
    this.#grantSoon();
  }

  /** An instance has work. */
  stage(instance: LimitedInstance): void {
    this.#staged.push(instance);
    this.#grant();
  }

  /** An instance is done: its resources are free again. */
  release(instance: LimitedInstance): void {
    for (const [device, needs] of instance.needs) {
      for (const [name, count] of needs) addTo(this.#used, device, name, -count);
    }
    this.#grantSoon();
  }

  /** After the turn: the instance that just ended may have more work, which competes with the others' then. */
  #grantSoon(): void {
    if (this.#staged.length > 0) this.#clock.nextTurn(() => this.#grant());
  }

  #grant(): void {
    if (this.#granting) return;
    this.#granting = true;
    try {
      for (let next = this.#first(); next !== undefined && this.#fits(next); next = this.#first()) {
        this.#staged.splice(this.#staged.indexOf(next), 1);
        for (const [device, needs] of next.needs) {
          for (const [name, count] of needs) addTo(this.#used, device, name, count);
        }
        next.begin();
      }
    } finally {
      this.#granting = false;
    }
  }

  #first(): LimitedInstance | undefined {
    let first = this.#staged[0];
    for (const instance of this.#staged) if (instance.cost < first!.cost) first = instance;
    return first;
  }

  #fits({ needs }: LimitedInstance): boolean {
    for (const [device, counts] of needs) {
      for (const [name, count] of counts) {
        const used = this.#used.get(device)?.get(name) ?? 0;
        if (used + count > (this.#limits.get(device)?.get(name) ?? 0)) return false;
      }
    }
    return true;
  }

  #logLimits(): void {
    let text = '\nMax Resource Map===>\n';
    for (const [device, counts] of sortedPools(this.#limits)) {
      if (counts.size === 0) continue;
      text += `\tDevice: ${device === GLOBAL ? 'GLOBAL' : device}\n`;
      for (const [name, count] of sortedPools(counts)) text += `\t\tResource: ${name}\t Count: ${count}\n`;
    }
    this.#log.verbose(1, text);
  }
}

/** One instance in the limiter. It executes one batch at a time. */
export class LimitedInstance {
  /** What an execution needs, by device. */
  readonly needs: ReadonlyPools;
  readonly #limiter: RateLimiter;
  readonly #priority: number;
  #executions = 0;
  #start: (() => void) | undefined;

  constructor(limiter: RateLimiter, { deviceId, resources, priority }: LimitedSpec) {
    this.#limiter = limiter;
    this.#priority = Math.max(priority, 1);
    this.needs = neededResources(resources, deviceId);
  }

  /** Executions so far times priority: the smallest goes first. */
  get cost(): number {
    return this.#executions * this.#priority;
  }

  /** Calls `start` when it is this instance's turn and its resources are free, possibly at once. */
  stage(start: () => void): void {
    this.#start = start;
    this.#limiter.stage(this);
  }

  /** For the limiter: it is this instance's turn. */
  begin(): void {
    const start = this.#start!;
    this.#start = undefined;
    start();
  }

  /** After an execution. */
  release(): void {
    this.#executions++;
    this.#limiter.release(this);
  }

  /** The instance was made and warmed up, which counts as two executions, as in Triton. */
  serve(): void {
    this.#executions = 2;
  }

  /** Takes the instance out of the limiter, after its last execution. */
  remove(): void {
    this.#limiter.remove(this);
  }
}

function addTo(pools: Pools, device: number, name: string, count: number): void {
  const pool = poolOf(pools, device);
  pool.set(name, (pool.get(name) ?? 0) + count);
}
