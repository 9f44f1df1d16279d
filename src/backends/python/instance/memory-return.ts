/** Shared memory goes back: regions that were read are named to their owner, and much of it is freed after a while. */
import { nowNs } from '../../../base/clock.js';
import type { PythonProcess } from '../process/python-process.js';
import type { FrameReader } from '../wire/frame-reader.js';
import { FrameWriter } from '../wire/frame-writer.js';
import { ToModel } from '../wire/wire.js';

/** Shared memory beyond this is given back when the instance has had nothing to do for a while. */
const KEPT_BYTES = 16 << 20;
const IDLE_MS = 5000;

/** Frees the regions that a frame says the process needs no more. */
export function releaseRegions(frame: FrameReader, process: PythonProcess): void {
  for (const region of frame.u64s()) process.memories.toModel.release(region);
}

/**
 * Names the regions that were read, if there are any: it is sent at once, as no batch may follow soon. `trim`: the process
 * is to free what it does not use.
 */
export function acknowledgeRegions(process: PythonProcess, trim = false): void {
  const { fromModel } = process.memories;
  if (!trim && !fromModel.hasRead) return;
  const frame = new FrameWriter(ToModel.ACKNOWLEDGE, 32);
  frame.u64s(fromModel.takeRead());
  frame.u8(trim ? 1 : 0);
  process.control(frame.finish());
}

/** Gives the shared memory of an instance back when nothing has happened for a while. */
export class IdleMemory {
  readonly #stateOf: (process: PythonProcess) => 'idle' | 'busy' | 'gone';
  #timer: NodeJS.Timeout | undefined;
  /** When the process last had something to do, in ns. */
  #activeNs = 0;

  /** `stateOf`: whether a process has a batch, or is not the instance's any more. */
  constructor(stateOf: (process: PythonProcess) => 'idle' | 'busy' | 'gone') {
    this.#stateOf = stateOf;
  }

  /** The process has ended a batch at this time, in ns. */
  worked(process: PythonProcess, atNs: number): void {
    this.#activeNs = atNs;
    if (this.#timer !== undefined) return;
    const { toModel, fromModel } = process.memories;
    if (!fromModel.used && toModel.size <= KEPT_BYTES) return;
    this.#timer = setTimeout(() => this.#look(process), IDLE_MS).unref();
  }

  /** Ends the waiting. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  #look(process: PythonProcess): void {
    this.#timer = undefined;
    const state = this.#stateOf(process);
    if (state === 'gone') return;
    const leftMs = IDLE_MS - (nowNs() - this.#activeNs) / 1e6;
    if (leftMs > 0 || state === 'busy') {
      this.#timer = setTimeout(() => this.#look(process), Math.max(leftMs, 1000)).unref();
      return;
    }
    process.memories.toModel.trim();
    acknowledgeRegions(process, true);
  }
}
