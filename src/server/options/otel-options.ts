import { packageVersion } from '../../base/package.js';

/** Value of an attribute of a span. */
export type AttributeValue = string | number;

/** Where spans go and how they are batched. */
export interface OtelOptions {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly resource: readonly (readonly [string, AttributeValue])[];
  /** Spans kept; more are dropped. */
  readonly maxQueueSize: number;
  /** Milliseconds between two batches. */
  readonly scheduleDelayMs: number;
  readonly maxBatchSize: number;
}

/**
 * From the settings of the mode as given, and OpenTelemetry's own variables for what they leave out. Throws an Error with
 * a text for the user.
 */
export function otelOptions(
  settings: readonly (readonly [name: string, value: string])[],
  environment: NodeJS.ProcessEnv,
): OtelOptions {
  const last = (name: string): string | undefined => settings.findLast(([key]) => key === name)?.[1];
  const resource = new Map<string, AttributeValue>([
    ['telemetry.sdk.name', 'triton'],
    ['telemetry.sdk.language', 'nodejs'],
    ['telemetry.sdk.version', packageVersion()],
    ...pairs(environment['OTEL_RESOURCE_ATTRIBUTES']),
    ['service.name', 'triton-inference-server'],
  ]);
  for (const [name, value] of settings) {
    if (name !== 'resource') continue;
    const at = value.indexOf('=');
    resource.set(at < 0 ? value : value.slice(0, at), value.slice(at + 1));
  }
  return {
    url: parseUrl(last('url') ?? endpoint(environment)),
    headers: Object.fromEntries(
      pairs(environment['OTEL_EXPORTER_OTLP_TRACES_HEADERS'] ?? environment['OTEL_EXPORTER_OTLP_HEADERS']),
    ),
    resource: [...resource],
    maxQueueSize: Number(last('bsp_max_queue_size') ?? 2048),
    scheduleDelayMs: Number(last('bsp_schedule_delay') ?? 5000),
    maxBatchSize: Math.max(1, Number(last('bsp_max_export_batch_size') ?? 512)),
  };
}

function endpoint(environment: NodeJS.ProcessEnv): string {
  const own = environment['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];
  if (own !== undefined) return own;
  const base = environment['OTEL_EXPORTER_OTLP_ENDPOINT'] ?? 'http://localhost:4318';
  return `${base.replace(/\/$/, '')}/v1/traces`;
}

function parseUrl(text: string): URL {
  try {
    const url = new URL(/^https?:\/\//.test(text) ? text : `http://${text}`);
    if (url.hostname !== '') return url;
  } catch {}
  throw new Error(
    `--trace-config=opentelemetry,url=${text}: not an address; give one like http://localhost:4318/v1/traces`,
  );
}

/** `a=1,b=2`, values percent-encoded. */
function pairs(text = ''): [string, string][] {
  return text.split(',').flatMap((part): [string, string][] => {
    const at = part.indexOf('=');
    if (at <= 0) return [];
    const value = part.slice(at + 1).trim();
    try {
      return [[part.slice(0, at).trim(), decodeURIComponent(value)]];
    } catch {
      return [[part.slice(0, at).trim(), value]];
    }
  });
}
