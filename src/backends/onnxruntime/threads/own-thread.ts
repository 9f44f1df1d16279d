import { TritonError } from '../../../base/error.js';
import type { Tensor } from '../../../protocol/tensor.js';
import type { OpenRequest, RunResult, SessionInfo } from '../session/open-session.js';
import { ModelThread } from './model-thread.js';

/** Pause after the first death of a thread in ms; it doubles with every further one that follows no successful run. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 30_000;
/** The only session of the thread. */
const SESSION = 0;

/**
 * A thread that one instance has for itself. It starts when it is needed for the first time and again after it died, not
 * before a pause that grows: until then runs are refused.
 */
export class OwnThread {
  readonly #name: string;
  readonly #open: OpenRequest;
  #thread: ModelThread | undefined;
  #deaths = 0;
  #deathText = '';
  #notBefore = 0;
  #closed = false;

  /** `name`: the instance, for messages. */
  constructor(name: string, open: OpenRequest) {
    this.#name = name;
    this.#open = open;
  }

  /** False in the pause after a death. */
  get usable(): boolean {
    return this.#thread?.alive === true || performance.now() >= this.#notBefore;
  }

  /** Starts the thread and opens the model in it. Rejects with the runtime's error; the thread has ended then. */
  async open(): Promise<SessionInfo> {
    const thread = this.#start();
    try {
      return await thread.open(SESSION, this.#open);
    } catch (reason) {
      await this.close();
      throw reason;
    }
  }

  /** Runs the model. The inputs' buffers must belong to the caller alone. Rejects with UNAVAILABLE in the pause. */
  async run(inputs: readonly Tensor[], outputs: readonly string[]): Promise<RunResult> {
    const thread = this.#start();
    const result = await thread.run(SESSION, inputs, outputs);
    this.#deaths = 0;
    return result;
  }

  /** Ends the thread after what it was sent; the next run starts another. */
  rest(): void {
    void this.#thread?.close();
    this.#thread = undefined;
  }

  /** Ends the thread after what it was sent, for good; resolves when it is gone. */
  async close(): Promise<void> {
    this.#closed = true;
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.close();
  }

  #start(): ModelThread {
    if (this.#closed) throw new TritonError('UNAVAILABLE', `instance '${this.#name}' is closed`);
    if (this.#thread?.alive) return this.#thread;
    if (this.#thread !== undefined) this.#died(this.#thread);
    const pauseMs = this.#notBefore - performance.now();
    if (pauseMs > 0) {
      throw new TritonError(
        'UNAVAILABLE',
        `the thread of instance '${this.#name}' has ended ${this.#deaths} times in a row (${this.#deathText}); ` +
          `it is started again in ${Math.ceil(pauseMs / 1000)} s`,
      );
    }
    const thread = new ModelThread(undefined, () => {
      if (this.#thread === thread) this.#died(thread);
    });
    // Opened here already: a run that follows waits for nobody. What cannot be opened fails that run, with the same error.
    void thread.open(SESSION, this.#open);
    this.#thread = thread;
    return thread;
  }

  #died(thread: ModelThread): void {
    this.#thread = undefined;
    this.#deaths++;
    this.#deathText = thread.endText;
    this.#notBefore = performance.now() + Math.min(FIRST_PAUSE_MS * 2 ** (this.#deaths - 1), LONGEST_PAUSE_MS);
  }
}
