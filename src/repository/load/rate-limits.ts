/** How much there is of the resources that instances compete for, and which instances could never run for want of them. */
import { invalidArg } from '../../base/error.js';

/** What one execution of an instance uses up while it runs (`rate_limiter.resources` of its instance group). */
export interface NeededResource {
  readonly name: string;
  /** True: one pool for all devices; false: one for each device. */
  readonly global: boolean;
  readonly count: number;
}

/** A `--rate-limit-resource`: how much there is. `device` -1 = of every device. */
export interface AvailableResource {
  readonly name: string;
  readonly count: number;
  readonly device: number;
}

/** Counts by device (GLOBAL for those that all share), then by name. */
export type Pools = Map<number, Map<string, number>>;

/** Pools that nobody changes any more. */
export type ReadonlyPools = ReadonlyMap<number, ReadonlyMap<string, number>>;

/** The key of the pool that all devices share. */
export const GLOBAL = -2;

const EVERY_DEVICE = -1;

/** What an execution on a device needs, by pool. */
export function neededResources(resources: readonly NeededResource[], deviceId: number): ReadonlyPools {
  const needs: Pools = new Map();
  for (const { name, global, count } of resources) poolOf(needs, global ? GLOBAL : deviceId).set(name, count);
  return needs;
}

/**
 * The limits of all resources: those that the options give, or what the instance that needs most needs. With any
 * `explicit` one, a resource that is not among them counts as 0. Throws INVALID_ARG when an instance could never run.
 */
export function resourceLimits(
  instances: Iterable<{ readonly needs: ReadonlyPools }>,
  explicit: readonly AvailableResource[],
): Pools {
  const limits: Pools = new Map();
  for (const { needs } of instances) {
    for (const [device, counts] of needs) {
      for (const [name, count] of counts) {
        const most = Math.max(limits.get(device)?.get(name) ?? 0, count);
        poolOf(limits, device).set(name, most);
      }
    }
  }
  if (explicit.length > 0) applyExplicit(limits, explicit);
  for (const [device, counts] of sortedPools(limits)) {
    for (const [name] of sortedPools(counts)) {
      if (device === GLOBAL || limits.get(GLOBAL)?.has(name) !== true) continue;
      throw invalidArg(
        `Resource "${name}" is present as both global and device-specific resource in the model configuration.`,
      );
    }
  }
  return limits;
}

function applyExplicit(limits: Pools, explicit: readonly AvailableResource[]): void {
  for (const [device, counts] of sortedPools(limits)) {
    for (const [name, needed] of sortedPools(counts)) {
      let available = 0;
      for (const given of explicit) {
        const applies = device === GLOBAL || given.device === device || given.device === EVERY_DEVICE;
        if (given.name === name && applies) available = Math.max(available, given.count);
      }
      if (available < needed) {
        throw invalidArg(
          `Resource count for "${name}" is limited to ${available} which will prevent scheduling of one or more ` +
            `model instances, the minimum required count is ${needed}`,
        );
      }
      counts.set(name, available);
    }
  }
}

/** The counts of one device; made when there are none. */
export function poolOf(pools: Pools, device: number): Map<string, number> {
  let pool = pools.get(device);
  if (pool === undefined) {
    pool = new Map();
    pools.set(device, pool);
  }
  return pool;
}

/** Entries in the order of their keys, in which Triton goes through them. */
export function sortedPools<K extends number | string, V>(map: ReadonlyMap<K, V>): [K, V][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}
