/**
 * Worker threads that the sessions of small models share. A thread holds the sessions of many models and runs one at a
 * time; a model is opened in a thread when it first runs there, so that any idle thread can run any model: no model waits
 * for another's run while a core is idle. There are as many threads as cores at most, and fewer until they are needed.
 *
 * Work comes in lanes, one per instance: a lane runs in one thread at a time. Lanes wait in one queue, first come first
 * served. Only while no lane waits may a lane send its next batches ahead of a response.
 *
 * A run cannot be interrupted. One that keeps a thread while others wait takes that thread with it: the thread leaves
 * the pool, another takes its place, and the model gets threads of its own (`SharedModel.onStuck`).
 */
import { nowNs } from '../../../base/clock.js';
import { Ring } from '../../../base/ring.js';
import type { Tensor } from '../../../protocol/tensor.js';
import type { OpenRequest, RunResult, SessionInfo } from '../session/open-session.js';
import { ModelThread } from './model-thread.js';

/** Lanes wait this long for a thread that is at one run before the thread is given to that run, in ms. */
const STUCK_MS = 250;
/** Batches of a lane that a thread is sent at once. */
const AHEAD = 4;

/** A model whose sessions the pool opens. */
export interface SharedModel {
  /** Number of its sessions, the same in every thread. */
  readonly session: number;
  /** What threads open from now on. */
  open: OpenRequest;
  /** Called when a run of the model kept a thread for too long, or when a thread died of it. */
  onStuck(reason: string): void;
}

/** An instance of a shared model. */
export class Lane {
  /** What was not given to a thread yet. */
  readonly waiting = new Ring<Work>();
  thread: ModelThread | undefined;
  /** Given to the thread and not answered. */
  inFlight = 0;
  queued = false;

  constructor(readonly model: SharedModel) {}
}

interface Work {
  start(thread: ModelThread): Promise<unknown>;
  resolve(result: never): void;
  reject(reason: unknown): void;
}

/** The pool. One serves all models of the process. */
export class ThreadPool {
  readonly #threads = new Set<ModelThread>();
  readonly #models = new Set<SharedModel>();
  readonly #queue = new Ring<Lane>();
  readonly #owners = new Map<ModelThread, Lane>();
  #size = 1;
  #timer: NodeJS.Timeout | undefined;
  #nextSession = 1;

  /** Threads in the pool. */
  get threads(): number {
    return this.#threads.size;
  }

  /** Takes a model in; `threads`: the cores of the machine that this server may use. */
  join(open: OpenRequest, threads: number, onStuck: (reason: string) => void): SharedModel {
    this.#size = Math.max(1, threads);
    const model: SharedModel = { session: this.#nextSession++, open, onStuck };
    this.#models.add(model);
    return model;
  }

  /** Frees a model's sessions; with the last model the threads end. Nothing of the model may be on its way. */
  async leave(model: SharedModel): Promise<void> {
    this.#models.delete(model);
    for (const thread of this.#threads) thread.dispose(model.session);
    if (this.#models.size > 0) return;
    const ending = [...this.#threads].map((thread) => thread.close());
    this.#threads.clear();
    await Promise.all(ending);
  }

  /** Opens the model in some thread. Rejects with the runtime's error. */
  open(lane: Lane): Promise<SessionInfo> {
    const { session, open } = lane.model;
    return this.#submit(lane, (thread) => thread.open(session, open));
  }

  /** Runs the model. The inputs' buffers must belong to the caller alone. */
  run(lane: Lane, inputs: readonly Tensor[], outputs: readonly string[]): Promise<RunResult> {
    const { session, open } = lane.model;
    return this.#submit(lane, (thread) => {
      if (!thread.has(session)) void thread.open(session, open).catch(() => {}); // the run fails with the same error
      return thread.run(session, inputs, outputs);
    });
  }

  #submit<T>(lane: Lane, start: (thread: ModelThread) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const work: Work = { start, resolve, reject };
      const { thread } = lane;
      const mayGoAhead = this.#queue.length === 0 && lane.waiting.length === 0 && lane.inFlight < AHEAD;
      if (lane.inFlight > 0 && mayGoAhead && thread?.alive) this.#give(thread, lane, work);
      else {
        lane.waiting.push(work);
        if (lane.inFlight === 0) this.#enqueue(lane);
      }
    });
  }

  /** A lane that has work and no thread: takes an idle thread, or waits for one. */
  #enqueue(lane: Lane): void {
    if (lane.queued) return;
    const idle = this.#queue.length === 0 ? this.#idleThread(lane) : undefined;
    if (idle !== undefined) {
      this.#serve(idle, lane);
      return;
    }
    lane.queued = true;
    this.#queue.push(lane);
    this.#grow();
    this.#timer ??= setTimeout(() => this.#lookForStuck(), STUCK_MS);
  }

  /** The idle thread in which the model is open, else the one with the fewest sessions. The number of threads is small. */
  #idleThread({ model, thread: last }: Lane): ModelThread | undefined {
    if (last?.alive && last.pending === 0 && this.#threads.has(last)) return last;
    let best: ModelThread | undefined;
    for (const thread of this.#threads) {
      if (!thread.ready || !thread.alive || thread.pending > 0) continue;
      if (thread.has(model.session)) return thread;
      if (best === undefined || thread.sessions < best.sessions) best = thread;
    }
    return best;
  }

  /** Gives a thread the lane's work: the oldest, and what follows if no other lane waits. */
  #serve(thread: ModelThread, lane: Lane): void {
    lane.thread = thread;
    for (;;) {
      const work = lane.waiting.shift();
      if (work !== undefined) this.#give(thread, lane, work);
      if (lane.waiting.length === 0 || this.#queue.length > 0 || lane.inFlight >= AHEAD) return;
    }
  }

  #give(thread: ModelThread, lane: Lane, work: Work): void {
    lane.inFlight++;
    this.#owners.set(thread, lane);
    work.start(thread).then(
      (result) => {
        this.#answered(thread, lane);
        work.resolve(result as never);
      },
      (reason) => {
        this.#answered(thread, lane);
        work.reject(reason);
      },
    );
  }

  #answered(thread: ModelThread, lane: Lane): void {
    lane.inFlight--;
    if (lane.inFlight === 0) {
      this.#owners.delete(thread);
      if (lane.waiting.length > 0) this.#enqueue(lane);
    }
    if (!thread.alive) this.#forget(thread, lane);
    else if (thread.pending === 0) this.#next(thread);
  }

  /** Gives an idle thread the lane that has waited longest. */
  #next(thread: ModelThread): void {
    if (!this.#threads.has(thread)) return;
    const lane = this.#queue.shift();
    if (lane === undefined) return;
    lane.queued = false;
    this.#serve(thread, lane);
  }

  /** One more thread, if the machine has a core for it and none is about to come. */
  #grow(): void {
    if (this.#threads.size >= this.#size) return;
    for (const thread of this.#threads) if (!thread.ready && thread.alive) return;
    const thread = new ModelThread(
      () => {
        this.#next(thread);
        if (this.#queue.length > 0) this.#grow();
      },
      () => this.#forget(thread),
    );
    this.#threads.add(thread);
  }

  /** A thread that died: its model gets threads of its own, the others go on in a new one. */
  #forget(thread: ModelThread, lane = this.#owners.get(thread)): void {
    if (!this.#threads.delete(thread)) return;
    lane?.model.onStuck(`a shared thread ended while it ran there (${thread.endText})`);
    if (this.#queue.length === 0) return;
    if (thread.ready) this.#grow();
    else this.#refuseAll(); // one that cannot even start will not start the next time
  }

  #refuseAll(): void {
    for (let lane = this.#queue.shift(); lane !== undefined; lane = this.#queue.shift()) {
      lane.queued = false;
      for (let work = lane.waiting.shift(); work !== undefined; work = lane.waiting.shift()) {
        work.reject(new Error('no thread could be started for onnxruntime'));
      }
    }
  }

  /** Takes the thread that is longest at one run out of the pool when a lane has waited too long. */
  #lookForStuck(): void {
    this.#timer = undefined;
    if (this.#queue.length === 0) return;
    const now = nowNs();
    let worst: ModelThread | undefined;
    for (const thread of this.#threads) {
      if (thread.ready && thread.busyNs(now) > (worst?.busyNs(now) ?? STUCK_MS * 1e6)) worst = thread;
    }
    if (worst !== undefined) {
      this.#threads.delete(worst);
      void worst.close();
      const ms = Math.round(worst.busyNs(now) / 1e6);
      this.#owners.get(worst)?.model.onStuck(`a run has kept a shared thread for ${ms} ms while others wait`);
      this.#grow();
    }
    this.#timer = setTimeout(() => this.#lookForStuck(), STUCK_MS);
  }
}

/** The pool of this process. */
export const pool = new ThreadPool();
