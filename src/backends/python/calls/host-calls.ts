import { TritonError } from '../../../base/error.js';
import type { BackendHost } from '../../../contract/backend.js';
import { type FamilyHandle, METRIC_KINDS, type MetricHandle } from '../../../contract/metrics.js';
import type { FrameReader } from '../wire/frame-reader.js';
import { FrameWriter } from '../wire/frame-writer.js';
import { ToModel } from '../wire/wire.js';

type Arguments = Readonly<Record<string, unknown>>;

/** What a model asks of the server beside inference: metrics of its own, loading and unloading models. */
export class HostCalls {
  readonly #host: BackendHost | undefined;
  readonly #instance: string;
  readonly #families = new Map<number, FamilyHandle>();
  readonly #metrics = new Map<number, MetricHandle>();
  #next = 1;

  constructor(host: BackendHost | undefined, instance: string) {
    this.#host = host;
    this.#instance = instance;
  }

  /** Answers a call, with its result as JSON or the text of an error. */
  call(frame: FrameReader, send: (answer: Buffer) => void): void {
    const number = frame.u32();
    const method = frame.text();
    const values = JSON.parse(frame.text()) as Arguments;
    const answer = (ok: boolean, text: string) => {
      const writer = new FrameWriter(ToModel.CALL_RESULT, 64 + text.length);
      writer.u32(number);
      writer.u8(ok ? 1 : 0);
      writer.text(text);
      send(writer.finish());
    };
    const refuse = (reason: unknown) => {
      const { message } = TritonError.from(reason);
      answer(false, `Failed to process the request for model '${this.#instance}', message: ${message}`);
    };
    const accept = (result: unknown) => answer(true, JSON.stringify(result ?? null));
    try {
      const result = this.#run(method, values);
      if (result instanceof Promise) result.then(accept, refuse);
      else accept(result);
    } catch (reason) {
      refuse(reason);
    }
  }

  /** Takes note of something that has no response: an object of the model is gone. */
  notify(frame: FrameReader): void {
    const method = frame.text();
    const { id } = JSON.parse(frame.text()) as { id: number };
    if (method === 'metric_delete') {
      this.#metrics.get(id)?.release();
      this.#metrics.delete(id);
    } else {
      this.#families.get(id)?.release();
      this.#families.delete(id);
    }
  }

  /** The process is gone, and what it held with it. */
  abandon(): void {
    for (const metric of this.#metrics.values()) metric.release();
    for (const family of this.#families.values()) family.release();
    this.#metrics.clear();
    this.#families.clear();
  }

  #run(method: string, values: Arguments): unknown {
    const host = this.#host;
    if (host === undefined) throw new TritonError('UNAVAILABLE', 'Server not ready');
    switch (method) {
      case 'metric_family': {
        const kind = METRIC_KINDS[values['kind'] as number]!;
        const family = host.metrics.family(values['name'] as string, values['description'] as string, kind);
        return this.#keep(this.#families, family);
      }
      case 'metric':
        return this.#keep(this.#metrics, this.#makeMetric(values));
      case 'metric_increment':
        return this.#metric(values).increment(numberOf(values['value']));
      case 'metric_set':
        return this.#metric(values).set(numberOf(values['value']));
      case 'metric_observe':
        return this.#metric(values).observe(numberOf(values['value']));
      case 'metric_value':
        return String(this.#metric(values).value());
      case 'load_model':
        return this.#load(host, values);
      case 'unload_model':
        return this.#unload(host, values);
      case 'is_model_ready':
        return isModelReady(host, values['name'] as string, values['version'] as string);
      default:
        throw new TritonError('UNSUPPORTED', `unknown call '${method}'`);
    }
  }

  #makeMetric(values: Arguments): MetricHandle {
    const labels: Record<string, string> = {};
    for (const [name, value] of values['labels'] as [string, string | null][]) {
      if (value === null) throw new TritonError('INTERNAL', 'attempt to access JSON non-string as string');
      labels[name] = value;
    }
    const buckets = (values['buckets'] as string[]).map(numberOf);
    return this.#families.get(values['family'] as number)!.metric(labels, buckets);
  }

  #metric(values: Arguments): MetricHandle {
    return this.#metrics.get(values['id'] as number)!;
  }

  #keep<Item>(items: Map<number, Item>, item: Item): number {
    const id = this.#next++;
    items.set(id, item);
    return id;
  }

  async #load(host: BackendHost, values: Arguments): Promise<void> {
    const config = values['config'] as string;
    const files = new Map<string, Uint8Array>();
    for (const [name, content] of Object.entries(values['files'] as Record<string, string>)) {
      files.set(name.replace(/^file:/, ''), Buffer.from(content, 'base64'));
    }
    await host.engine.load(values['name'] as string, {
      ...(config === '' ? {} : { config }),
      ...(files.size === 0 ? {} : { files }),
    });
  }

  async #unload(host: BackendHost, values: Arguments): Promise<void> {
    await host.engine.unload(values['name'] as string, values['unload_dependents'] as boolean);
  }
}

/** Unknown models and versions are not ready; a version that is not a number is an error. */
function isModelReady(host: BackendHost, name: string, version: string): boolean | Promise<boolean> {
  return host.engine.isModelReady(name, version);
}

/** A number as Python prints it. */
function numberOf(text: unknown): number {
  if (text === 'inf') return Number.POSITIVE_INFINITY;
  if (text === '-inf') return Number.NEGATIVE_INFINITY;
  return Number(text);
}
