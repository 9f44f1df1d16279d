import type { InstanceRunner } from './instance-runner.js';
import type { Task } from './task.js';

/** Decides when and together with what the requests of one loaded version are executed. */
export interface Scheduler {
  /** Takes a validated request. Throws the TritonError of a request that is refused at once. */
  enqueue(task: Task): void;
  /** Requests that have not reached an instance; during shutdown they are waited for. */
  readonly inFlight: number;
  /** Refuses new requests from now on (those of live sequences excepted); what is queued is still executed. */
  stop(): void;
  /**
   * Other instances serve from now on. One that is left out gets nothing new, and `unused` follows when it will be given
   * nothing any more (sequences that live on it end first). Absent where there are no instances.
   */
  setRunners?(runners: readonly InstanceRunner[], unused: (runner: InstanceRunner) => void): void;
  /**
   * Adds the load numbers of the versions that requests run through besides the model itself (the members of an
   * ensemble). Throws where one does not serve. Absent where there are none.
   */
  addMemberLoads?(loads: Set<number>): void;
  /** Ends its timers, once nothing is on its way. */
  close(): void;
}

/** Message with which a stopped scheduler refuses. */
export const STOPPING_TEXT = 'Server is stopping, scheduler for model has stopped accepting new inference requests';
