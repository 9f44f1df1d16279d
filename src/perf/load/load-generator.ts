import { Worker } from 'node:worker_threads';
import { nowNs } from '../../base/clock.js';
import type { LoadPlan } from './assignments.js';
import type {
  CollectedLoad,
  LoadCommand,
  LoadResponse,
  LoadSetup,
  WorkerAssignment,
  WorkerFailure,
} from './load-messages.js';

/** Contexts that share a gRPC connection stay in one thread; the first connection has one less. */
const CONTEXTS_PER_CONNECTION = 6;
/** Time between the order to begin and the first send of a schedule, so that all threads have it, nanoseconds. */
const LEAD_NS = 5e6;

/** How long the end of a run waits for outstanding requests. */
const STOP_LIMIT_MS = 60_000;

/** One load thread as the main thread sees it. */
class LoadThread {
  readonly #worker: Worker;
  readonly #waiting = new Map<LoadResponse['type'], (response: LoadResponse) => void>();
  readonly #exited: Promise<void>;
  #broken: Error | undefined;

  constructor(setup: LoadSetup, thread: number, threads: number, onFailure: (failure: WorkerFailure) => void) {
    this.#worker = new Worker(new URL('./load-thread.js', import.meta.url), {
      workerData: { setup, thread, threads },
    });
    this.#worker.on('message', (response: LoadResponse) => {
      if (response.type === 'failed') onFailure(response.failure);
      else {
        const resolve = this.#waiting.get(response.type);
        this.#waiting.delete(response.type);
        resolve?.(response);
      }
    });
    this.#exited = new Promise((resolve) => {
      this.#worker.once('error', (error) => {
        this.#broken = error instanceof Error ? error : new Error(String(error));
        onFailure({ worker: thread, kind: 'submit', message: this.#broken.message });
      });
      this.#worker.once('exit', () => {
        // The thread is gone: what waits for it gets an empty response.
        for (const [type, waiting] of this.#waiting) waiting({ ...NOTHING, type } as LoadResponse);
        this.#waiting.clear();
        this.#broken ??= new Error('the load thread ended');
        resolve();
      });
    });
  }

  ready(): Promise<LoadResponse> {
    return this.#response('ready');
  }

  ask(command: LoadCommand, response: LoadResponse['type']): Promise<LoadResponse> {
    if (this.#broken !== undefined) return Promise.resolve({ ...NOTHING, type: response } as LoadResponse);
    const pending = this.#response(response);
    this.#worker.postMessage(command);
    return pending;
  }

  /** Waits for the requests that are outstanding, but not for ever: a server may never respond. */
  async stop(): Promise<void> {
    const stopped = this.ask({ type: 'stop' }, 'stopped');
    const limit = setTimeout(() => void this.#worker.terminate(), STOP_LIMIT_MS);
    await stopped;
    await this.#exited;
    clearTimeout(limit);
  }

  #response(type: LoadResponse['type']): Promise<LoadResponse> {
    return new Promise((resolve) => this.#waiting.set(type, resolve));
  }
}

const NOTHING: Omit<CollectedLoad, never> = {
  records: new Float64Array(0),
  counters: { completed: 0, requestNs: 0, sendNs: 0, receiveNs: 0, sent: 0 },
  busyNs: 0,
  workers: 0,
  utilization: 0,
  details: [],
};

/**
 * Makes the load: workers spread over threads. One thread carries a few thousand requests per second; `grow` adds more
 * when it is the thread that limits.
 */
export class LoadGenerator {
  readonly #setup: LoadSetup;
  readonly #maxThreads: number;
  readonly #threads: LoadThread[] = [];
  #plan: LoadPlan = [];
  /** Workers that gave up, in the order of their failures. */
  readonly failures: WorkerFailure[] = [];

  private constructor(setup: LoadSetup, maxThreads: number) {
    this.#setup = setup;
    this.#maxThreads = maxThreads;
  }

  /** Starts with one thread; `maxThreads` is what it may grow to. */
  static async start(setup: LoadSetup, maxThreads: number): Promise<LoadGenerator> {
    const generator = new LoadGenerator(setup, maxThreads);
    await generator.#addThread();
    return generator;
  }

  /** Threads that run. */
  get threads(): number {
    return this.#threads.length;
  }

  /** Replaces the load. Resolves when the new one runs. */
  async apply(plan: LoadPlan): Promise<void> {
    this.#plan = plan;
    const startNs = nowNs() + LEAD_NS;
    const started = plan.map((worker) =>
      worker.schedule === undefined ? worker : { ...worker, schedule: { ...worker.schedule, startNs } },
    );
    await Promise.all(
      this.#threads.map((thread, index) => {
        const workers = started.filter((worker) => this.#threadOf(worker) === index);
        return thread.ask({ type: 'assign', workers, activeWorkers: plan.length }, 'assigned');
      }),
    );
  }

  /** True when another thread could carry part of the load. */
  get canGrow(): boolean {
    const groups = new Set(this.#plan.map((worker) => this.#group(worker)));
    return this.#threads.length < Math.min(this.#maxThreads, groups.size);
  }

  /** Adds a thread and spreads the load again. */
  async grow(): Promise<void> {
    // What moves is stopped first: there is never more outstanding than asked for.
    const threads = this.#threads.length;
    await Promise.all(
      this.#threads.map((thread, index) => {
        const kept = this.#plan.filter((worker) => this.#group(worker) % (threads + 1) === index);
        const workers = kept.filter((worker) => this.#group(worker) % threads === index);
        return thread.ask({ type: 'assign', workers, activeWorkers: this.#plan.length }, 'assigned');
      }),
    );
    await this.#addThread();
    await this.apply(this.#plan);
  }

  /** Everything that happened since the last time, by thread. */
  async collect(): Promise<readonly CollectedLoad[]> {
    const responses = await Promise.all(this.#threads.map((thread) => thread.ask({ type: 'collect' }, 'collected')));
    return responses as readonly (LoadResponse & { type: 'collected' })[];
  }

  /** Ends all load, waits for what is outstanding, ends the threads. */
  async stop(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.stop()));
    this.#threads.length = 0;
  }

  async #addThread(): Promise<void> {
    const thread = new LoadThread(this.#setup, this.#threads.length, this.#maxThreads, (failure) =>
      this.failures.push(failure),
    );
    await thread.ready();
    this.#threads.push(thread);
  }

  #threadOf(worker: WorkerAssignment): number {
    return this.#group(worker) % this.#threads.length;
  }

  /** Workers of one group share a connection. */
  #group(worker: WorkerAssignment): number {
    if (this.#setup.client.protocol === 'http') return worker.index;
    return Math.floor((worker.index + 1) / CONTEXTS_PER_CONNECTION);
  }
}
