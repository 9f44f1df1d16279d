import { formatBytes } from '../../base/format-bytes.js';

const WIDTH = 24;
/** A terminal is not written to more often than this, in ms. */
const PACE_MS = 100;

/** What is written to: a terminal gets a bar that moves, anything else a line when a file begins and when it is there. */
export interface ProgressOutput {
  readonly isTTY?: boolean | undefined;
  write(text: string): unknown;
}

/** Shows how far the download of one file is. */
export class DownloadProgress {
  readonly #output: ProgressOutput;
  readonly #name: string;
  readonly #total: number;
  readonly #start = Date.now();
  #first: number | undefined;
  #shown = 0;

  constructor(output: ProgressOutput, name: string, total: number) {
    this.#output = output;
    this.#name = name;
    this.#total = total;
    if (output.isTTY !== true) output.write(`${name}: ${formatBytes(total)}\n`);
  }

  /** `bytes` have arrived, those of an earlier attempt included. */
  update(bytes: number): void {
    this.#first ??= bytes;
    const now = Date.now();
    if (this.#output.isTTY !== true || (now - this.#shown < PACE_MS && bytes < this.#total)) return;
    this.#shown = now;
    this.#output.write(`\r${progressLine(this.#name, bytes, this.#total, this.#rate(bytes, now))}\x1b[K`);
  }

  /** Ends the line. */
  end(): void {
    if (this.#output.isTTY === true && this.#shown > 0) this.#output.write('\n');
  }

  #rate(bytes: number, now: number): number {
    return ((bytes - (this.#first ?? 0)) / Math.max(now - this.#start, 1)) * 1000;
  }
}

/** `model.onnx [######------]  50%  15.6 of 31.2 MiB  4.2 MiB/s  4 s left` */
export function progressLine(name: string, bytes: number, total: number, bytesPerSecond: number): string {
  const share = total === 0 ? 1 : Math.min(bytes / total, 1);
  const full = Math.round(share * WIDTH);
  const bar = `${'#'.repeat(full)}${'-'.repeat(WIDTH - full)}`;
  const left = bytesPerSecond > 0 && bytes < total ? `  ${Math.ceil((total - bytes) / bytesPerSecond)} s left` : '';
  const percent = `${Math.floor(share * 100)}%`.padStart(4);
  return `${name} [${bar}] ${percent}  ${formatBytes(bytes)} of ${formatBytes(total)}  ${formatBytes(bytesPerSecond)}/s${left}`;
}
