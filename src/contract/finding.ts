import type { RuleName } from './rule-table.js';

/** A position in a text file. Lines and columns start at 1; a tab moves to the next multiple of 8 (as protobuf counts). */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Path of a value in a message: field names, list indexes, map keys. `['input', 0, 'dims', 1]` */
export type FieldPath = readonly (string | number | bigint)[];

/** One fault or doubt about a model repository. */
export interface Finding {
  /** error: a server would not bring the model up. warning: it would, but something is probably not meant. */
  readonly severity: 'error' | 'warning';
  readonly rule: RuleName;
  /** Triton's own message where it has one. */
  readonly message: string;
  /** Triton's own message where `message` is that of the configuration's parser. */
  readonly serverMessage?: string;
  /** What the configuration's parser prints, at its own positions, which may lie behind the wrong token. */
  readonly parserErrors?: readonly { readonly line: number; readonly column: number; readonly message: string }[];
  readonly file?: string;
  readonly position?: Position;
  /** Lines that show the fault more closely, such as two shapes side by side. */
  readonly details?: readonly string[];
  /** How to correct it, in one sentence. */
  readonly remedy?: string;
  /** Name of the model. */
  readonly model?: string;
}
