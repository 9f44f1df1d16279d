import { nowNs } from '../../base/clock.js';
import type { EngineEvent, RequestTrace } from '../../contract/request-trace.js';
import type { AttributeValue } from '../options/otel-options.js';
import type { NextTraceId } from './file-trace.js';
import type { FrontEvent, FrontTrace } from './front-trace.js';
import { Span } from './span.js';
import type { SpanExporter } from './span-exporter.js';
import { type SpanContext, traceContextJson } from './trace-context.js';
import type { TraceSetting } from './trace-setting.js';

/** What the traced requests of one server share. */
export interface OtelSink {
  readonly exporter: SpanExporter;
  readonly nextId: NextTraceId;
  /** Called when the settings ask for tensors, which spans cannot show. */
  noTensors(): void;
}

/**
 * A traced request as spans: `InferRequest` around all, under it one with the model's name,
 * under that one `compute`; requests that it causes stand under the model's. Timestamps are events of the spans.
 */
export class OtelTrace implements FrontTrace {
  readonly request: RequestTrace;
  readonly setting: TraceSetting;
  readonly sink: OtelSink;
  readonly #root: Span;
  #open = 1;

  /** `parent`: the context that came with the request. */
  constructor(setting: TraceSetting, sink: OtelSink, parent: SpanContext | undefined) {
    this.setting = setting;
    this.sink = sink;
    this.#root = new Span('InferRequest', parent, nowNs());
    this.request = new RequestSpans(this, this.#root, 0);
  }

  event(name: FrontEvent, ns: number): void {
    if (this.setting.timestamps) this.#root.event(name, ns);
  }

  lateEvent(name: FrontEvent, ns: number): void {
    this.event(name, ns);
  }

  end(): void {
    this.ended();
  }

  began(): void {
    this.#open++;
  }

  ended(): void {
    if (--this.#open > 0) return;
    this.sink.exporter.add(this.#root.end(nowNs()));
    this.setting.collect('');
  }
}

/** The spans of one request to a model. */
class RequestSpans implements RequestTrace {
  readonly #whole: OtelTrace;
  readonly #id: number;
  readonly #parentId: number;
  /** The parent's span until `begin` makes one of its own. */
  #span: Span;
  #compute: Span | undefined;

  constructor(whole: OtelTrace, parent: Span, parentId: number) {
    this.#whole = whole;
    this.#id = whole.sink.nextId();
    this.#span = parent;
    this.#parentId = parentId;
  }

  get context(): string {
    return traceContextJson(this.#span);
  }

  begin(model: string, version: string, requestId: string, ns: number): void {
    this.#whole.began();
    if (!this.#whole.setting.timestamps) return;
    const attributes: [string, AttributeValue][] = [
      ['triton.model_name', model],
      ['triton.model_version', Number(version)],
      ['triton.trace_id', this.#id],
      ['triton.trace_parent_id', this.#parentId],
    ];
    if (requestId !== '') attributes.push(['triton.request_id', requestId]);
    this.#span = new Span(model, this.#span, ns, attributes);
    this.#span.event('REQUEST_START', ns);
  }

  event(name: EngineEvent, ns: number): void {
    if (!this.#whole.setting.timestamps) return;
    if (name === 'COMPUTE_START') this.#compute = new Span('compute', this.#span, ns);
    (this.#compute ?? this.#span).event(name, ns);
    if (name !== 'COMPUTE_END' || this.#compute === undefined) return;
    this.#whole.sink.exporter.add(this.#compute.end(ns));
    this.#compute = undefined;
  }

  tensors(): void {
    if (this.#whole.setting.tensors) this.#whole.sink.noTensors();
  }

  child(): RequestTrace {
    return new RequestSpans(this.#whole, this.#span, this.#id);
  }

  end(ns: number): void {
    if (this.#whole.setting.timestamps) this.#span.event('REQUEST_END', ns);
    this.#finish(ns);
  }

  abandon(): void {
    this.#finish(nowNs());
  }

  #finish(ns: number): void {
    if (this.#whole.setting.timestamps) this.#whole.sink.exporter.add(this.#span.end(ns));
    this.#whole.ended();
  }
}
