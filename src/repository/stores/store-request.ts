/** Requests to object stores: over proxies where the environment names them, repeated when a failure may pass. */
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Dispatcher, EnvHttpProxyAgent, request } from 'undici';
import { innermostText, isLasting, mayPass } from '../network-fault.js';

/** One request, signed. */
export interface StoreCall {
  readonly url: string;
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A store refused, or could not be reached. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  /**
   * `status`: of HTTP, 0 when there was no answer. `body`: what came with it. `headers`: with lower-case names.
   */
  constructor(
    message: string,
    readonly status: number,
    readonly body = '',
    readonly headers: Readonly<Record<string, string | string[] | undefined>> = {},
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

const DELAYS_MS = [200, 500, 1500] as const;

let dispatcher: Dispatcher | undefined;

/**
 * Sends and returns the body of a 2xx answer, undecoded. `sign` is asked anew for each attempt, because signatures hold
 * the time. Rejects with a StoreError.
 */
export async function openBody(sign: () => Promise<StoreCall> | StoreCall): Promise<Readable> {
  dispatcher ??= new EnvHttpProxyAgent({ connectTimeout: 10_000, headersTimeout: 30_000, bodyTimeout: 60_000 });
  for (let tries = 0; ; tries++) {
    const { url, ...call } = await sign();
    const delay = DELAYS_MS[tries];
    let answer: Dispatcher.ResponseData;
    try {
      answer = await request(url, { method: 'GET', ...call, dispatcher });
    } catch (cause) {
      if (delay === undefined || isLasting(cause)) {
        const { host } = new URL(url);
        throw new StoreError(`cannot reach ${host}: ${innermostText(cause)}`, 0, '', {}, { cause });
      }
      await sleep(delay);
      continue;
    }
    const { statusCode: status, headers, body } = answer;
    if (status >= 200 && status < 300) return body;
    const text = await body.text().catch(() => '');
    if (delay !== undefined && mayPass(status)) await sleep(delay);
    else throw new StoreError(`HTTP status ${status}`, status, text, headers);
  }
}

/** The same for an answer that is text; one that breaks off is asked for again. */
export async function readText(sign: () => Promise<StoreCall> | StoreCall): Promise<string> {
  for (let tries = 0; ; tries++) {
    const body = await openBody(sign);
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of body) chunks.push(chunk as Buffer);
      return Buffer.concat(chunks).toString();
    } catch (cause) {
      const delay = DELAYS_MS[tries];
      if (delay === undefined) throw new StoreError(innermostText(cause), 0, '', {}, { cause });
      await sleep(delay);
    }
  }
}
