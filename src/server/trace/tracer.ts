import type { Log } from '../../base/log.js';
import { otelOptions } from '../options/otel-options.js';
import type { TraceOptions } from '../options/trace-options.js';
import { FileTrace } from './file-trace.js';
import type { FrontTrace } from './front-trace.js';
import { type OtelSink, OtelTrace } from './otel-trace.js';
import { SpanExporter } from './span-exporter.js';
import { readTraceContext } from './trace-context.js';
import { TraceSettings } from './trace-settings.js';

/** Decides which requests are traced, and where their traces go: to a file or to an OpenTelemetry collector. */
export class Tracer {
  readonly settings: TraceSettings;
  readonly #nextId: () => number;
  readonly #otel: OtelSink | undefined;

  /** Throws an Error for a collector's address that is not a URL. */
  constructor(options: TraceOptions, log: Log) {
    let last = 0;
    this.#nextId = () => ++last;
    this.settings = new TraceSettings(options, log);
    if (options.mode === 'opentelemetry') this.#otel = otelSink(options, this.#nextId, log);
  }

  /** False while no request can be traced: front ends then do not ask. */
  get active(): boolean {
    return this.settings.active;
  }

  /** A trace for a request to a model, if it is one that is to be traced. `header` gives headers by lower-case name. */
  start(model: string, header: (name: string) => string | undefined): FrontTrace | undefined {
    const setting = this.settings.of(model);
    if (this.#otel === undefined) {
      return setting.sample(false) ? new FileTrace(setting, this.#nextId) : undefined;
    }
    const parent = readTraceContext(header);
    return setting.sample(parent !== undefined) ? new OtelTrace(setting, this.#otel, parent) : undefined;
  }

  /** Writes or sends what there is. To be called when no more requests are on their way. */
  async close(): Promise<void> {
    this.settings.close();
    await this.#otel?.exporter.close();
  }
}

function otelSink(options: TraceOptions, nextId: () => number, log: Log): OtelSink {
  let said = false;
  return {
    exporter: new SpanExporter(otelOptions(options.others.opentelemetry, process.env), log),
    nextId,
    noTensors() {
      if (!said) log.error('Tensor level tracing is not supported by the mode: opentelemetry');
      said = true;
    },
  };
}
