import type { ClientRequest } from 'node:http';
import type { Log } from '../../base/log.js';
import type { OtelOptions } from '../options/otel-options.js';
import { attributeList } from './span.js';

/** A collector that does not respond is given up after this time, in ms (OpenTelemetry's default). */
const TIMEOUT_MS = 10_000;
/** How long the end of the server may wait for the last spans, in ms. */
const CLOSE_MS = 5000;

/** Collects finished spans and sends them in batches: OTLP over HTTP, JSON, one batch at a time. */
export class SpanExporter {
  readonly #options: OtelOptions;
  readonly #log: Log;
  readonly #head: string;
  #queue: string[] = [];
  #dropped = 0;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #request: ClientRequest | undefined;

  constructor(options: OtelOptions, log: Log) {
    this.#options = options;
    this.#log = log;
    const resource = JSON.stringify({ attributes: attributeList(options.resource) });
    this.#head = `{"resourceSpans":[{"resource":${resource},"scopeSpans":[{"scope":{"name":"triton-server"},"spans":[`;
  }

  add(span: object): void {
    const { maxQueueSize, maxBatchSize, scheduleDelayMs } = this.#options;
    if (this.#queue.length >= maxQueueSize) {
      this.#dropped++;
      return;
    }
    this.#queue.push(JSON.stringify(span));
    if (this.#queue.length >= maxBatchSize) this.#send();
    else if (this.#timer === undefined) {
      this.#timer = setTimeout(() => this.#send(), scheduleDelayMs);
      this.#timer.unref();
    }
  }

  /** Sends what is left, for a limited time. */
  async close(): Promise<void> {
    const giveUp = setTimeout(() => {
      this.#queue = [];
      this.#request?.destroy(new Error('the server ends'));
    }, CLOSE_MS);
    while (this.#sending !== undefined || this.#queue.length > 0) {
      this.#send();
      await this.#sending;
    }
    clearTimeout(giveUp);
    clearTimeout(this.#timer);
  }

  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#sending !== undefined || this.#queue.length === 0) return;
    const spans = this.#queue.splice(0, this.#options.maxBatchSize);
    this.#sending = this.#export(spans).finally(() => {
      this.#sending = undefined;
      if (this.#queue.length >= this.#options.maxBatchSize) this.#send();
      else if (this.#queue.length > 0 && this.#timer === undefined) {
        this.#timer = setTimeout(() => this.#send(), this.#options.scheduleDelayMs);
        this.#timer.unref();
      }
    });
  }

  async #export(spans: readonly string[]): Promise<void> {
    const { url } = this.#options;
    if (this.#dropped > 0) {
      this.#log.warning(
        `${this.#dropped} spans were dropped: the collector takes them more slowly than they come. ` +
          'Trace fewer requests (rate) or keep more spans (bsp_max_queue_size)',
      );
      this.#dropped = 0;
    }
    try {
      await this.#post(`${this.#head}${spans.join()}]}]}]}`);
    } catch (reason) {
      this.#log.error(`${spans.length} spans could not be sent to ${url.href}: ${(reason as Error).message}`);
    }
  }

  async #post(body: string): Promise<void> {
    const { url, headers } = this.#options;
    const { request } = await import(url.protocol === 'https:' ? 'node:https' : 'node:http');
    await new Promise<void>((resolve, reject) => {
      const options = {
        method: 'POST',
        timeout: TIMEOUT_MS,
        headers: { ...headers, 'Content-Type': 'application/json' },
      };
      const sent: ClientRequest = request(url, options, (response: import('node:http').IncomingMessage) => {
        response.resume();
        response.on('error', reject);
        response.on('end', () => {
          const status = response.statusCode ?? 0;
          if (status >= 200 && status < 300) resolve();
          else reject(new Error(`the collector answered ${status} ${response.statusMessage}`));
        });
      });
      this.#request = sent;
      sent.on('timeout', () => sent.destroy(new Error(`no response within ${TIMEOUT_MS / 1000} s`)));
      sent.on('error', reject);
      sent.end(body);
    });
  }
}
