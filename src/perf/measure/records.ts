/**
 * Completed requests as the load threads hand them over: numbers in one array, so that a window of any size is one
 * transfer without a copy.
 */

/** Numbers per request. */
export const RECORD_STRIDE = 4;
/** Offset of the start of a request, nanoseconds of the monotonic clock. */
export const RECORD_START = 0;
/** Offset of the end: the last response that was not empty. */
export const RECORD_END = 1;
/** Offset of the flags. */
export const RECORD_FLAGS = 2;
/** Offset of the number of responses that were not empty. */
export const RECORD_RESPONSES = 3;

/** The request was sent more than a millisecond after its time. */
export const FLAG_DELAYED = 1;
/** The request ended its sequence. */
export const FLAG_SEQUENCE_END = 2;

/** A list of records that grows without boxing its numbers. */
export class RecordList {
  #values = new Float64Array(1024 * RECORD_STRIDE);
  #length = 0;

  push(startNs: number, endNs: number, flags: number, responses: number): void {
    if (this.#length === this.#values.length) {
      const larger = new Float64Array(this.#values.length * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    const values = this.#values;
    values[this.#length++] = startNs;
    values[this.#length++] = endNs;
    values[this.#length++] = flags;
    values[this.#length++] = responses;
  }

  /** Empties the list; what it held is handed out as an array of its own. */
  take(): Float64Array {
    const taken = this.#values.slice(0, this.#length);
    this.#length = 0;
    return taken;
  }
}

/** Parts a list of records into those that count in a window and those that ended after it. */
export function splitAtWindow(
  parts: readonly Float64Array[],
  startNs: number,
  endNs: number,
): { inside: Float64Array[]; later: Float64Array[] } {
  const inside: Float64Array[] = [];
  const later: Float64Array[] = [];
  for (const part of parts) {
    for (let i = 0; i < part.length; i += RECORD_STRIDE) {
      const record = part.subarray(i, i + RECORD_STRIDE);
      const end = record[RECORD_END] as number;
      if (end > endNs) later.push(record);
      else if (end >= startNs && (record[RECORD_START] as number) <= end) inside.push(record);
    }
  }
  return { inside, later };
}
