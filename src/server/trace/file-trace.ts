import type { EngineEvent, RequestTrace, TensorActivity } from '../../contract/request-trace.js';
import type { Tensor } from '../../protocol/tensor.js';
import type { FrontEvent, FrontTrace } from './front-trace.js';
import { tensorText } from './tensor-text.js';
import type { TraceSetting } from './trace-setting.js';

/** Gives numbers to traces, from 1, for the whole server. */
export type NextTraceId = () => number;

/**
 * A traced request with all requests that it causes, as JSON for the trace file. It is complete when everybody who
 * reports has ended; then traces of caused requests stand before those that caused them.
 */
export class FileTrace implements FrontTrace {
  readonly request: RequestTrace;
  readonly setting: TraceSetting;
  readonly nextId: NextTraceId;
  readonly #root: RequestPart;
  readonly #parts: RequestPart[] = [];
  /** Those who still report: the front end, and every request that the engine has begun. */
  #open = 1;

  constructor(setting: TraceSetting, nextId: NextTraceId) {
    this.setting = setting;
    this.nextId = nextId;
    this.#root = new RequestPart(this, 0);
    this.request = this.#root;
  }

  event(name: FrontEvent, ns: number): void {
    this.#root.timestamp(name, ns);
  }

  lateEvent(name: FrontEvent, ns: number): void {
    this.#root.lateTimestamp(name, ns);
  }

  end(): void {
    this.ended();
  }

  add(part: RequestPart): void {
    this.#parts.push(part);
  }

  began(): void {
    this.#open++;
  }

  ended(): void {
    if (--this.#open > 0) return;
    const texts = this.#parts
      .reverse()
      .map((part) => part.text)
      .filter((text) => text !== '');
    this.setting.collect(texts.join());
  }
}

/** The events of one request, in the order in which they were reported. */
class RequestPart implements RequestTrace {
  readonly context = undefined;
  readonly #whole: FileTrace;
  readonly #id: number;
  readonly #parentId: number;
  readonly #entries: string[] = [];
  #late: string[] | undefined;

  constructor(whole: FileTrace, parentId: number) {
    this.#whole = whole;
    this.#id = whole.nextId();
    this.#parentId = parentId;
    whole.add(this);
  }

  get text(): string {
    return (this.#late === undefined ? this.#entries : this.#entries.concat(this.#late)).join();
  }

  begin(model: string, version: string, requestId: string, ns: number): void {
    this.#whole.began();
    if (!this.#whole.setting.timestamps) return;
    const id = requestId === '' ? '' : `,"request_id":${JSON.stringify(requestId)}`;
    const parent = this.#parentId === 0 ? '' : `,"parent_id":${this.#parentId}`;
    this.#entries.push(
      `{"id":${this.#id},"model_name":${JSON.stringify(model)},"model_version":${version}${id}${parent}}`,
    );
    this.timestamp('REQUEST_START', ns);
  }

  event(name: EngineEvent, ns: number): void {
    this.timestamp(name, ns);
  }

  timestamp(name: string, ns: number): void {
    if (this.#whole.setting.timestamps) this.#entries.push(timestampText(this.#id, name, ns));
  }

  lateTimestamp(name: string, ns: number): void {
    if (!this.#whole.setting.timestamps) return;
    this.#late ??= [];
    this.#late.push(timestampText(this.#id, name, ns));
  }

  tensors(activity: TensorActivity, tensors: readonly Tensor[]): void {
    if (!this.#whole.setting.tensors) return;
    for (const tensor of tensors) {
      const { name, shape, datatype } = tensor;
      const described = { name, data: tensorText(tensor), shape: shape.join(), dtype: datatype };
      this.#entries.push(`{"id":${this.#id},"activity":"${activity}","tensor":${JSON.stringify(described)}}`);
    }
  }

  child(): RequestTrace {
    return new RequestPart(this.#whole, this.#id);
  }

  end(ns: number): void {
    this.timestamp('REQUEST_END', ns);
    this.#whole.ended();
  }

  abandon(): void {
    this.#whole.ended();
  }
}

function timestampText(id: number, name: string, ns: number): string {
  return `{"id":${id},"timestamps":[{"name":"${name}","ns":${Math.round(ns)}}]}`;
}
