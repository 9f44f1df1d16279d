import { randomBytes } from 'node:crypto';
import type { AttributeValue } from '../options/otel-options.js';
import type { SpanContext } from './trace-context.js';

/** Nanoseconds between the epoch and the zero of base/clock.ts. */
const EPOCH_NS =
  BigInt(Math.round((performance.timeOrigin + performance.now()) * 1000)) * 1000n - process.hrtime.bigint();

/** A span in OTLP's JSON form while it is being made. Times are ns of base/clock.ts. */
export class Span implements SpanContext {
  readonly traceId: string;
  readonly spanId = randomBytes(8).toString('hex');
  readonly state: string;
  readonly #name: string;
  readonly #parentId: string;
  readonly #startNs: number;
  readonly #attributes: readonly (readonly [string, AttributeValue])[];
  readonly #events: object[] = [];

  /** Without a parent it begins a trace. */
  constructor(
    name: string,
    parent: SpanContext | undefined,
    startNs: number,
    attributes: readonly (readonly [string, AttributeValue])[] = [],
  ) {
    this.#name = name;
    this.traceId = parent?.traceId ?? randomBytes(16).toString('hex');
    this.state = parent?.state ?? '';
    this.#parentId = parent?.spanId ?? '';
    this.#startNs = startNs;
    this.#attributes = attributes;
  }

  event(name: string, ns: number): void {
    this.#events.push({ name, timeUnixNano: epochTime(ns) });
  }

  /** The finished span. */
  end(ns: number): object {
    return {
      traceId: this.traceId,
      spanId: this.spanId,
      ...(this.state === '' ? {} : { traceState: this.state }),
      ...(this.#parentId === '' ? {} : { parentSpanId: this.#parentId }),
      name: this.#name,
      kind: 2, // SERVER, as Triton says of all its spans
      startTimeUnixNano: epochTime(this.#startNs),
      endTimeUnixNano: epochTime(ns),
      ...(this.#attributes.length === 0 ? {} : { attributes: attributeList(this.#attributes) }),
      events: this.#events,
    };
  }
}

/** Attributes in OTLP's JSON form; integers are strings there. */
export function attributeList(attributes: readonly (readonly [string, AttributeValue])[]): object[] {
  return attributes.map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
  }));
}

function epochTime(ns: number): string {
  return String(EPOCH_NS + BigInt(Math.round(ns)));
}
