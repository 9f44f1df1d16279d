import { type ErrorCodeName, TritonError } from '../base/error.js';
import type { FieldPath, Position } from './finding.js';
import type { RuleName } from './rule-table.js';

/** One rule that a configuration breaks. */
export interface Fault {
  readonly rule: RuleName;
  readonly code: ErrorCodeName;
  /** Triton's message. */
  readonly message: string;
  /** Field at fault; of a missing field its own path, or that of the message it should be in. */
  readonly path: FieldPath;
  /** The file at fault, where it is another than the configuration's. */
  readonly file?: string;
  /** Place in `file`. */
  readonly position?: Position;
  /** Lines that show the fault more closely, such as two shapes side by side. */
  readonly details?: readonly string[];
  /** How to correct it, in one sentence. */
  readonly remedy?: string;
}

/** Collects faults in the order of the checks. */
export class Faults {
  readonly list: Fault[] = [];

  /** Adds a fault with code INVALID_ARG. */
  add(rule: RuleName, path: FieldPath, message: string, remedy?: string): void {
    this.list.push({ rule, code: 'INVALID_ARG', message, path, ...(remedy === undefined ? {} : { remedy }) });
  }
}

/** The fault that an error is. */
export function faultOf(reason: unknown, rule: RuleName, path: FieldPath, remedy?: string): Fault {
  const { code, message } = TritonError.from(reason);
  return { rule, code, message, path, ...(remedy === undefined ? {} : { remedy }) };
}

/** Throws the first fault as the error that Triton reports; does nothing when there is none. */
export function throwFirst(faults: readonly Fault[]): void {
  const first = faults[0];
  if (first !== undefined) throw new TritonError(first.code, first.message);
}
