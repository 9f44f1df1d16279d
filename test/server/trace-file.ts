/** Reads trace files. */
import { readFileSync } from 'node:fs';

/** One object of a trace file. */
export interface TraceEntry {
  readonly id: number;
  readonly model_name?: string;
  readonly model_version?: number;
  readonly request_id?: string;
  readonly parent_id?: number;
  readonly timestamps?: readonly { readonly name: string; readonly ns: number }[];
  readonly activity?: string;
  readonly tensor?: Readonly<Record<string, string>>;
}

/** What a file says, and by trace id (in the order of the file) the names of its events, `info` for the request's object. */
export function readTraces(file: string): { entries: TraceEntry[]; events: Map<number, string[]> } {
  const entries = JSON.parse(readFileSync(file, 'utf8')) as TraceEntry[];
  const events = new Map<number, string[]>();
  for (const entry of entries) {
    const names = events.get(entry.id) ?? [];
    events.set(entry.id, names);
    names.push(entry.timestamps?.[0]?.name ?? entry.activity ?? 'info');
  }
  return { entries, events };
}
