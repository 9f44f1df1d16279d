import { TritonError } from '../base/error.js';
import type { InferCall, InferenceServerClient, InferResult } from '../client/api/client.js';
import { ImageClientFailure } from './failure.js';

/** How requests are sent. */
export interface SendOptions {
  readonly async: boolean;
  readonly streaming: boolean;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Sends all requests: one after the other, all at once, or on one stream. Resolves with the responses in the order of
 * the requests, whatever order they came in; the failure of an asynchronous request stands for its response.
 */
export function sendRequests(
  client: InferenceServerClient,
  calls: readonly InferCall[],
  options: SendOptions,
): Promise<(InferResult | TritonError)[]> {
  if (options.streaming) return sendOnStream(client, calls, options);
  return options.async ? sendAtOnce(client, calls, options) : sendInTurn(client, calls, options);
}

async function sendInTurn(client: InferenceServerClient, calls: readonly InferCall[], { headers }: SendOptions) {
  const results: InferResult[] = [];
  for (const call of calls) {
    try {
      results.push(await client.infer(call, { headers }));
    } catch (reason) {
      throw new ImageClientFailure(`failed sending synchronous infer request: ${TritonError.from(reason).message}`);
    }
  }
  return results;
}

function sendAtOnce(client: InferenceServerClient, calls: readonly InferCall[], { headers }: SendOptions) {
  return Promise.all(calls.map((call) => client.infer(call, { headers }).catch(TritonError.from)));
}

async function sendOnStream(client: InferenceServerClient, calls: readonly InferCall[], { headers }: SendOptions) {
  const stream = client.stream({ headers });
  const results = new Map<string, InferResult | TritonError>();
  const receiving = (async () => {
    for await (const event of stream) {
      if (event.result === undefined) results.set(event.id, new TritonError('UNKNOWN', event.error));
      else results.set(event.result.id, event.result);
    }
  })();
  // The reader's failure says why; a failed write says only that the stream is gone.
  const sending = (async () => {
    for (const call of calls) await stream.send(call);
    stream.end();
  })();
  sending.catch(() => {});
  try {
    await receiving;
    await sending;
  } catch (reason) {
    throw new ImageClientFailure(`failed sending asynchronous infer request: ${TritonError.from(reason).message}`);
  }
  return calls.map(
    ({ id = '' }) =>
      results.get(id) ?? new TritonError('INTERNAL', `the stream ended without a response to request ${id}`),
  );
}
