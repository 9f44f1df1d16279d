/** Position of a span in a distributed trace, as W3C Trace Context has it. Ids are lower-case hexadecimal. */
export interface SpanContext {
  /** 32 digits. */
  readonly traceId: string;
  /** 16 digits. */
  readonly spanId: string;
  /** Vendors' data, passed on as it came; '' = none. */
  readonly state: string;
}

const TRACEPARENT = /^\s*([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?\s*$/;

/** Reads the headers `traceparent` and `tracestate`; undefined when there is none that is valid. */
export function readTraceContext(header: (name: string) => string | undefined): SpanContext | undefined {
  const match = TRACEPARENT.exec(header('traceparent') ?? '');
  if (match === null) return undefined;
  const [, version = '', traceId = '', spanId = '', , rest] = match;
  if (version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, state: header('tracestate')?.trim() ?? '' };
}

/** The context as JSON, which models pass on as headers: `{"traceparent":"00-...","tracestate":"..."}`. */
export function traceContextJson({ traceId, spanId, state }: SpanContext): string {
  const context: Record<string, string> = { traceparent: `00-${traceId}-${spanId}-01` };
  if (state !== '') context['tracestate'] = state;
  return JSON.stringify(context);
}
