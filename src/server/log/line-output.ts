import { writeSync } from 'node:fs';

/** Most bytes of lines that wait for an output that does not take them; a line that has begun is always finished. */
export const LOG_QUEUE_BYTES = 1 << 20;

/** Pauses between attempts on an output that is full, in ms; the last one repeats. */
const PAUSES_MS = [5, 20, 100, 250] as const;
/** Pause after an error other than a full pipe (a full disk, a reader that went away), in ms. */
const ERROR_PAUSE_MS = 1000;
/** Pause between attempts while the end of the process waits, in ms. */
const FLUSH_PAUSE_MS = 5;

/** Writes some bytes to a descriptor that does not block; returns how many were taken, or throws the system's error. */
export type WriteBytes = (bytes: Uint8Array) => number;

/** Stands in the queue where lines are missing. */
interface Loss {
  count: number;
  why: string;
}

/**
 * One destination of log lines: a write never throws and never blocks. Lines that the destination does not take at once
 * wait in a bounded queue, in order, and a line that was begun is finished before the next one. Beyond the bound, and
 * when the reader of a pipe has gone, lines are dropped and counted; where they are missing a line reports the loss as
 * soon as writing works again.
 */
export class LineOutput {
  /** Makes the line that reports a loss: how many lines, and the system's code of the reason. */
  lossLine: (count: number, why: string) => string = (count, why) => `${count} log records were dropped: ${why}\n`;
  readonly #write: WriteBytes;
  readonly #queue: (Buffer | Loss)[] = [];
  #queuedBytes = 0;
  #dropped = 0;
  /** Code of the last failure; lines that are dropped while it lasts are dropped for this reason. */
  #why = 'EAGAIN';
  /** Attempts in a row on an output that is full. */
  #attempts = 0;
  #timer: NodeJS.Timeout | undefined;
  /** No attempt before this time (`performance.now`). */
  #retryAt = 0;

  constructor(write: WriteBytes) {
    this.#write = write;
  }

  /** A destination behind a descriptor, which should be one that does not block. */
  static of(fd: number): LineOutput {
    return new LineOutput((bytes) => writeSync(fd, bytes));
  }

  /** Lines dropped so far. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Writes one or more whole lines, or takes them over to be written later. */
  write(line: string): void {
    const waits = this.#timer !== undefined || performance.now() < this.#retryAt;
    const bytes = Buffer.from(line);
    if (waits && (this.#timer === undefined || this.#queuedBytes + bytes.length > LOG_QUEUE_BYTES)) {
      this.#drop(1);
      return;
    }
    this.#queue.push(bytes);
    this.#queuedBytes += bytes.length;
    if (!waits) this.#attempt();
  }

  /** Writes what waits, for at most this time, which blocks. What is left after it is dropped. For the end only. */
  flush(ms: number): void {
    const end = performance.now() + ms;
    const pause = new Int32Array(new SharedArrayBuffer(4));
    while (this.#queuedBytes > 0) {
      this.#attempt();
      if (this.#queuedBytes === 0 || performance.now() >= end) break;
      Atomics.wait(pause, 0, 0, FLUSH_PAUSE_MS);
    }
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#dropQueue();
  }

  /** Writes until the queue is empty or the destination takes no more; then a timer goes on. */
  #attempt(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    try {
      while (this.#queue.length > 0) {
        const head = this.#queue[0] as Buffer | Loss;
        const bytes = Buffer.isBuffer(head) ? head : Buffer.from(this.lossLine(head.count, head.why));
        const count = this.#write(bytes);
        this.#attempts = 0;
        this.#queuedBytes += Buffer.isBuffer(head) ? -count : bytes.length - count;
        if (count < bytes.length) this.#queue[0] = bytes.subarray(count);
        else this.#queue.shift();
        if (count === 0 && bytes.length > 0) {
          this.#failed('EAGAIN');
          return;
        }
      }
    } catch (reason) {
      this.#failed((reason as NodeJS.ErrnoException).code ?? 'unknown');
    }
  }

  #failed(code: string): void {
    this.#why = code;
    if (code === 'EPIPE') {
      // Nobody will read what waits. Lines of later may find another reader (of a named pipe); these do not.
      this.#dropQueue();
      this.#retryAt = performance.now() + ERROR_PAUSE_MS;
      return;
    }
    const full = code === 'EAGAIN' || code === 'EINTR';
    const pause = full ? PAUSES_MS[Math.min(this.#attempts++, PAUSES_MS.length - 1)] : ERROR_PAUSE_MS;
    this.#timer = setTimeout(() => this.#attempt(), pause);
    this.#timer.unref();
  }

  #dropQueue(): void {
    const waiting = this.#queue.splice(0);
    this.#queuedBytes = 0;
    for (const each of waiting) {
      if (Buffer.isBuffer(each)) this.#drop(1);
      else this.#addLoss(each.count);
    }
  }

  #drop(count: number): void {
    this.#dropped += count;
    this.#addLoss(count);
  }

  #addLoss(count: number): void {
    const last = this.#queue.at(-1);
    if (last === undefined || Buffer.isBuffer(last)) this.#queue.push({ count, why: this.#why });
    else last.count += count;
  }
}
