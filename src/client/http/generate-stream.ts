import type { Dispatcher } from 'undici';
import { TritonError } from '../../protocol/error.js';
import { parseJson } from '../../protocol/json/json-value.js';
import type { CallOptions } from '../api/client.js';
import { type GenerateEvent, generateError, readGenerateResult } from '../api/generate.js';
import { cancelledByCaller, deadlineExceeded, httpSystemError } from '../api/system-errors.js';
import { errorOfAnswer } from './error-of-answer.js';

const EVENT_STREAM = 'text/event-stream';
const SEPARATOR = Buffer.from('\n\n');
const PREFIX = 'data: ';
/**
 * Bytes of events that wait for their reader before reading stops. So many that it never does: undici 7 throws an
 * assertion out of reach of any handler when a server closes while reading stands still (nodejs/undici issue 5360).
 */
const NEVER_PAUSE = 2 ** 40;

/**
 * Server-sent events of a generate_stream request, as they come. Rejects where the server refuses the request as a whole;
 * errors of the model are events. Leaving the loop cancels the request.
 */
export async function* generateEvents(
  dispatcher: Dispatcher,
  path: string,
  body: string,
  timeoutMs: number,
  options: CallOptions,
): AsyncGenerator<GenerateEvent, void, undefined> {
  const left = new AbortController();
  const limit = timeoutMs > 0 ? AbortSignal.timeout(timeoutMs) : undefined;
  const signals = [left.signal, options.signal, limit].filter((signal) => signal !== undefined);
  try {
    const response = await dispatcher.request({
      method: 'POST',
      path,
      headers: { 'content-type': 'application/json', ...options.headers },
      body,
      highWaterMark: NEVER_PAUSE,
      signal: AbortSignal.any(signals),
    });
    const type = String(response.headers['content-type'] ?? '');
    if (!type.startsWith(EVENT_STREAM)) {
      const answer = Buffer.from(await response.body.arrayBuffer());
      throw errorOfAnswer({ status: response.statusCode, body: answer });
    }
    let rest: Buffer = Buffer.alloc(0);
    for await (const chunk of response.body) {
      rest = rest.length === 0 ? (chunk as Buffer) : Buffer.concat([rest, chunk as Buffer]);
      for (let end = rest.indexOf(SEPARATOR); end >= 0; end = rest.indexOf(SEPARATOR)) {
        const event = rest.subarray(0, end);
        rest = rest.subarray(end + SEPARATOR.length);
        yield readEvent(event);
      }
    }
    if (rest.length > 0) throw new TritonError('INTERNAL', 'the stream of events ended in the middle of one');
  } catch (reason) {
    if (options.signal?.aborted) throw cancelledByCaller(options.signal);
    if (limit?.aborted) throw deadlineExceeded();
    throw httpSystemError(reason);
  } finally {
    left.abort();
  }
}

function readEvent(event: Buffer): GenerateEvent {
  if (!event.subarray(0, PREFIX.length).equals(Buffer.from(PREFIX))) {
    throw new TritonError('INTERNAL', `unexpected event in the stream: ${event.toString('utf8').slice(0, 200)}`);
  }
  const json = parseJson(event.subarray(PREFIX.length));
  const error = generateError(json);
  return error === undefined ? { result: readGenerateResult(json) } : { error };
}
