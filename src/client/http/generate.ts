import type { Dispatcher } from 'undici';
import { TritonError } from '../../base/error.js';
import { JsonKind, type JsonValue } from '../../protocol/json/json-value.js';
import { parseJson } from '../../protocol/json/parse-json.js';
import { jsonString } from '../../protocol/json/write-json.js';
import type { CallOptions } from '../api/client.js';
import type { GenerateCall, GenerateEvent, GenerateResult, GenerateScalar, GenerateValue } from '../api/generate.js';
import { cancelledByCaller, deadlineExceeded, httpSystemError } from '../core/errors.js';
import type { HttpResponse } from './exchange.js';
import { readJson } from './read-json.js';
import { errorOfResponse } from './response-error.js';

const EVENT_STREAM = 'text/event-stream';
const SEPARATOR = Buffer.from('\n\n');
const PREFIX = 'data: ';
/**
 * Bytes of events that wait for their reader before reading stops. So high that it never stops: undici 7 throws an
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
  options: CallOptions,
): AsyncGenerator<GenerateEvent, void, undefined> {
  const left = new AbortController();
  const { timeoutMs = 0 } = options;
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
      const content = Buffer.from(await response.body.arrayBuffer());
      throw errorOfResponse({ status: response.statusCode, body: content });
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
  return eventOf(parseJson(event.subarray(PREFIX.length)));
}

function eventOf(json: JsonValue): GenerateEvent {
  const error = generateError(json);
  return error === undefined ? { result: readGenerateResult(json) } : { error };
}

/** The result of a generate request. Throws what a model that does not respond exactly once is reported as. */
export function generateResult({ status, body }: HttpResponse): GenerateResult {
  const event = readJson(body, 'generate response', eventOf);
  if (event.error === undefined) return event.result;
  // The status of such a response is 200 all the same.
  throw new TritonError('INTERNAL', event.error, { status });
}

/** The body of a call. */
export function generateBody({ id, values, parameters }: GenerateCall): string {
  const members = Object.entries(values).map(([name, value]) => `${jsonString(name)}:${jsonOfValue(value)}`);
  if (id !== undefined && id !== '') members.unshift(`"id":${jsonString(id)}`);
  if (parameters !== undefined) {
    const inner = Object.entries(parameters).map(([name, value]) => `${jsonString(name)}:${jsonOfValue(value)}`);
    members.push(`"parameters":{${inner.join(',')}}`);
  }
  return `{${members.join(',')}}`;
}

/** Reads the object of a response; throws the JSON layer's error for anything else. */
function readGenerateResult(json: JsonValue): GenerateResult {
  return Object.fromEntries(json.members().map(([name, value]) => [name.asString(), readValue(value)]));
}

/** The message of an object that holds nothing but an error; undefined for a response. */
function generateError(json: JsonValue): string | undefined {
  const members = json.members();
  const error = json.member('error');
  return members.length === 1 && error?.isString ? error.asString() : undefined;
}

function jsonOfValue(value: GenerateValue): string {
  if (typeof value === 'object') return `[${value.map(jsonOfValue).join(',')}]`;
  if (typeof value === 'string') return jsonString(value);
  // -0 would be the integer 0.
  if (Object.is(value, -0)) return '-0.0';
  if (typeof value !== 'number' || Number.isFinite(value)) return String(value);
  // The server reads these words, which JSON itself does not have.
  if (Number.isNaN(value)) return 'NaN';
  return value < 0 ? '-Infinity' : 'Infinity';
}

function readValue(value: JsonValue): GenerateValue {
  if (value.isArray) return value.asArray().map(readScalar);
  return readScalar(value);
}

function readScalar(value: JsonValue): GenerateScalar {
  if (value.isString) return value.asString();
  if (value.isBool) return value.asBool();
  if (value.kind !== JsonKind.INTEGER) return value.asDouble();
  const exact = value.integer() as bigint;
  const near = Number(exact);
  return Number.isSafeInteger(near) ? near : exact;
}
