/** Requests to object stores: over proxies where the environment names them, repeated when a failure may pass. */

import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { type HttpResponse, httpRequest } from '../../http/http-request.js';
import { innermostText, isLasting, mayPass } from '../../http/network-fault.js';

/** One request, signed. */
export interface StoreCall {
  readonly url: string;
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A store refused, or could not be reached. It leaves no store: each turns it into a TritonError in Triton's words. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  /** Of HTTP; 0 when there was no response. */
  readonly status: number;
  /** What came with it. */
  readonly body: string;
  /** With lower-case names. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;

  /** Without a response: none came, for the reason `cause`. */
  constructor(message: string, response?: Partial<Pick<StoreError, 'status' | 'body' | 'headers'>>, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    const { status = 0, body = '', headers = {} } = response ?? {};
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

/** Most bytes of a listing or a token that are read. */
const MAX_TEXT_BYTES = 256 * 2 ** 20;
/** Most bytes of the body of a refusal that are read. */
const MAX_ERROR_BYTES = 2 ** 20;

const DELAYS_MS = [200, 500, 1500] as const;

/**
 * Sends and returns the body of a 2xx response, undecoded. `sign` is asked again for each attempt, because signatures hold
 * the time. Rejects with a StoreError.
 */
export async function openBody(sign: () => Promise<StoreCall> | StoreCall): Promise<Readable> {
  for (let tries = 0; ; tries++) {
    const { url, ...call } = await sign();
    const delay = DELAYS_MS[tries];
    let answer: HttpResponse;
    try {
      answer = await httpRequest(url, call);
    } catch (cause) {
      if (delay === undefined || isLasting(cause)) {
        const { host } = new URL(url);
        throw new StoreError(`cannot reach ${host}: ${innermostText(cause)}`, {}, cause);
      }
      await sleep(delay);
      continue;
    }
    const { status, headers, body } = answer;
    if (status >= 200 && status < 300) return body;
    const text = await textOf(body, MAX_ERROR_BYTES).catch(() => '');
    if (delay !== undefined && mayPass(status)) await sleep(delay);
    else throw new StoreError(`HTTP status ${status}`, { status, body: text, headers });
  }
}

/** The same for a response that is text; one that breaks off is asked for again. */
export async function readText(sign: () => Promise<StoreCall> | StoreCall): Promise<string> {
  for (let tries = 0; ; tries++) {
    const body = await openBody(sign);
    try {
      return await textOf(body, MAX_TEXT_BYTES);
    } catch (cause) {
      const delay = DELAYS_MS[tries];
      if (delay === undefined) throw new StoreError(innermostText(cause), {}, cause);
      await sleep(delay);
    }
  }
}

/** The whole of a body as text. Throws an Error when it is larger than `maxBytes`. */
export async function textOf(body: Readable, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += (chunk as Buffer).length;
    if (size > maxBytes) throw new Error(`the response has more than ${maxBytes} bytes`);
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString();
}
