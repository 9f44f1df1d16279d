import { performance } from 'node:perf_hooks';
import { RecordList } from '../measure/records.js';
import type { ClientCounters } from '../measure/window.js';
import type { CollectedLoad, RequestDetail, WorkerFailure } from './load-messages.js';
import type { RequestPlan } from './request-maker.js';
import type { Outcome } from './sender.js';

/** What a load thread remembers until it is asked. */
export class LoadLog {
  readonly #records = new RecordList();
  readonly #onFailure: (failure: WorkerFailure) => void;
  #details: RequestDetail[] = [];
  #utilization = performance.eventLoopUtilization();
  counters: ClientCounters = noCounters();
  /** Time between the end of a request and the start of the next, summed. */
  busyNs = 0;

  constructor(onFailure: (failure: WorkerFailure) => void) {
    this.#onFailure = onFailure;
  }

  /** A request that succeeded. One whose only response was the empty last one is not counted as a request. */
  add(outcome: Outcome, flags: number): void {
    const { counters } = this;
    counters.completed += 1;
    counters.requestNs += outcome.doneNs - outcome.startNs;
    counters.sendNs += outcome.sendNs;
    counters.receiveNs += outcome.receiveNs;
    if (outcome.responses > 0) this.#records.push(outcome.startNs, outcome.endNs, flags, outcome.responses);
  }

  /** Keeps a request with its tensors. */
  addDetail(plan: RequestPlan, outcome: Outcome): void {
    this.#details.push({
      startNs: outcome.startNs,
      sequenceId: plan.sequenceId,
      stream: plan.stream,
      step: plan.step,
      responseNs: outcome.responseNs ?? [],
      outputs: (outcome.results ?? []).map((result) =>
        result.outputs.map(({ name, datatype, data }) => ({ name, datatype, data: data.slice() })),
      ),
    });
  }

  /** Reports a worker that gave up. */
  fail(failure: WorkerFailure): void {
    this.#onFailure(failure);
  }

  /** Hands out everything since the last time. */
  take(workers: number): CollectedLoad {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, this.#utilization);
    this.#utilization = now;
    const taken = {
      records: this.#records.take(),
      counters: this.counters,
      busyNs: this.busyNs,
      workers,
      utilization,
      details: this.#details,
    };
    this.counters = noCounters();
    this.busyNs = 0;
    this.#details = [];
    return taken;
  }
}

/** Counters of a time in which nothing happened. */
export function noCounters(): ClientCounters {
  return { completed: 0, requestNs: 0, sendNs: 0, receiveNs: 0, sent: 0 };
}
