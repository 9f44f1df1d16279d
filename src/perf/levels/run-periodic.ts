import { setTimeout as sleep } from 'node:timers/promises';
import { nowNs } from '../../base/clock.js';
import { createClient, type InferenceServerClient } from '../../client/index.js';
import { PerfError } from '../error/perf-error.js';
import { LoadLog } from '../load/load-log.js';
import type { LoadSetup } from '../load/load-messages.js';
import { RequestMaker, type RequestPlan } from '../load/request-maker.js';
import { type Outcome, type Sender, StreamSender } from '../load/sender.js';
import type { LoadOptions, SearchRange } from '../options/load-options.js';
import { loadFault } from './level-meter.js';
import type { ExportedLevel } from './measured-level.js';

/** Contexts of perf_analyzer that share one gRPC connection. */
const CONTEXTS_PER_CONNECTION = 6;
/** How often the end is looked for, as in perf_analyzer, milliseconds. */
const POLL_MS = 20;
/** Factor between the index of a worker and the id of its request. */
const ID_BASE = 2n ** 48n;
/** What the export shows as the level. */
const EXPORTED_LEVEL = 1;

/**
 * Periodic concurrency: begins with `start` requests, each on a stream of its own; whenever all of the newest have had as
 * many responses as a period has, `step` more begin, until there were `end` of them (periodic_concurrency_manager.cc).
 * Nothing is measured: resolves with the requests for the profile export. Throws a PerfError.
 */
export async function runPeriodic(
  setup: LoadSetup,
  options: Pick<LoadOptions, 'periodic' | 'requestPeriod'>,
  interrupted: () => boolean,
): Promise<ExportedLevel> {
  const run = new PeriodicRun(setup, options);
  try {
    await run.start();
    while (!run.finished && !interrupted()) await sleep(POLL_MS);
    run.checkFailures();
    return { level: EXPORTED_LEVEL, requests: run.log.take(0).details.slice(), boundariesNs: [] };
  } finally {
    await run.close();
  }
}

class PeriodicRun {
  readonly log: LoadLog;
  readonly #setup: LoadSetup;
  readonly #range: SearchRange;
  readonly #period: number;
  readonly #maker: RequestMaker;
  readonly #clients: InferenceServerClient[] = [];
  readonly #senders: Sender[] = [];
  /** Responses of the requests that have not had a whole period yet, by id. */
  readonly #responses = new Map<string, number>();
  readonly #failures: Parameters<typeof loadFault>[0][number][] = [];
  #fault: PerfError | undefined;
  #started = 0;
  #completed = 0;

  constructor(setup: LoadSetup, { periodic, requestPeriod }: Pick<LoadOptions, 'periodic' | 'requestPeriod'>) {
    this.#setup = setup;
    this.#range = periodic;
    this.#period = requestPeriod;
    this.#maker = new RequestMaker(setup);
    this.log = new LoadLog((failure) => this.#failures.push(failure));
  }

  get finished(): boolean {
    return this.#completed >= this.#range.end || this.#failures.length > 0 || this.#fault !== undefined;
  }

  async start(): Promise<void> {
    // Clients are made ahead: an idle one costs nothing, and making one is asynchronous.
    for (let i = 0; i < Math.ceil(this.#range.end / CONTEXTS_PER_CONNECTION); i++) {
      this.#clients.push(await createClient(this.#setup.client));
    }
    this.#startMore(this.#range.start);
  }

  checkFailures(): void {
    const fault = this.#fault ?? loadFault(this.#failures);
    if (fault !== undefined) throw fault;
  }

  async close(): Promise<void> {
    for (const client of this.#clients) await client.close();
    await Promise.all(this.#senders.map((sender) => sender.close()));
  }

  #startMore(count: number): void {
    // Never more than asked for, whatever the step (perf_analyzer may start too many).
    const last = Math.min(this.#started + count, this.#range.end);
    while (this.#started < last) this.#startOne(this.#started++);
  }

  #startOne(index: number): void {
    const client = this.#clients[Math.floor(index / CONTEXTS_PER_CONNECTION)] as InferenceServerClient;
    const sender = new StreamSender(client, this.#maker, {
      headers: this.#setup.headers,
      wantResults: true,
      async: true,
      onResponse: (id) => this.#onResponse(id),
    });
    this.#senders.push(sender);
    const steps = this.#maker.stepsOf(0);
    const plan: RequestPlan = {
      stream: 0,
      step: steps === 0 ? 0 : (index * this.#setup.batchSize) % steps,
      id: String(BigInt(index) * ID_BASE),
      sequenceId: 0,
      sequenceStart: false,
      sequenceEnd: false,
    };
    this.#responses.set(plan.id, 0);
    sender.send(plan, nowNs(), (outcome) => this.#onDone(index, plan, outcome));
  }

  #onResponse(id: string): void {
    const before = this.#responses.get(id);
    if (before === undefined) return;
    if (before + 1 < this.#period) {
      this.#responses.set(id, before + 1);
      return;
    }
    this.#responses.delete(id);
    if (this.#responses.size === 0) this.#startMore(this.#range.step);
  }

  #onDone(index: number, plan: RequestPlan, outcome: Outcome): void {
    if (outcome.error !== undefined) {
      this.log.fail({ worker: index, kind: outcome.error.kind, message: outcome.error.message });
      return;
    }
    if (this.#responses.has(plan.id)) {
      this.#fault ??= new PerfError(
        'Request received final response before request period was reached. Request period must be at most the total number of responses received by any request.',
        { emptyLines: 0 },
      );
    }
    this.log.addDetail(plan, outcome);
    this.#completed++;
  }
}
