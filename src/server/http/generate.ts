import type { ReadyModel } from '../../engine/engine-api.js';
import type { InferenceResponse, PendingRequest, ResponseHandler } from '../../engine/request.js';
import type { RequestTrace } from '../../engine/trace/request-trace.js';
import { httpStatusOf, invalidArg, TritonError } from '../../protocol/error.js';
import { decodeGenerateRequest, encodeGenerateResponse } from '../../protocol/infer/generate.js';
import type { HeaderList, Http1ChunkedBody, Http1Reply, Http1Request } from '../../transport/http1/http1-api.js';
import type { ServerContext } from '../server-context.js';
import { StreamBacklog } from '../stream-backlog.js';
import { RequestTiming, TIMING_HEADER } from '../timing/request-timing.js';
import { HttpTrace } from '../trace/http-trace.js';
import { errorBody, JSON_HEADERS } from './respond.js';
import type { HttpRoute } from './route.js';

const EVENT_HEADERS: HeaderList = [['Content-Type', 'text/event-stream; charset=utf-8']];
const NOT_ONE_RESPONSE =
  'generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses';
/** The status of a first response that is an error, whatever its code: as clients see it from the original. */
const ERROR_STATUS = httpStatusOf('INVALID_ARG');

/** `POST /v2/models/M/generate`: one response as one JSON object, sent chunked. */
export function generate(context: ServerContext, route: HttpRoute, request: Http1Request, reply: Http1Reply): void {
  const model = context.engine.model(route.model, route.version);
  const trace = startTrace(context, route, request, reply);
  const timing = request.header(TIMING_HEADER) === undefined ? undefined : new RequestTiming(trace?.request);
  let count = 0;
  let first: Answer | undefined;
  const finish = () => {
    const headers = timing === undefined ? JSON_HEADERS : [...JSON_HEADERS, ...timing.headers()];
    const body = (trace ?? reply).startChunked(first?.status ?? 200, headers);
    body.write(count === 1 && first !== undefined ? first.body : errorBody(NOT_ONE_RESPONSE));
    body.end();
  };
  const pending = submit(context, model, request, trace, timing ?? trace?.request, (response, final) => {
    if (response !== undefined) {
      count++;
      first ??= answerOf(response);
    }
    if (!final) return;
    if (timing === undefined) finish();
    else timing.whenKnown(finish);
  });
  reply.onClose(() => pending.cancel());
}

/** `POST /v2/models/M/generate_stream`: every response as an event; a client that leaves cancels the request. */
export function generateStream(
  context: ServerContext,
  route: HttpRoute,
  request: Http1Request,
  reply: Http1Reply,
): void {
  const model = context.engine.model(route.model, route.version);
  const trace = startTrace(context, route, request, reply);
  const backlog = new StreamBacklog(context.options.streamMaxBacklog);
  let body: Http1ChunkedBody | undefined;
  let ended = false;
  const pending = submit(context, model, request, trace, trace?.request, (response, final) => {
    if (ended) return;
    const answer = response === undefined ? undefined : answerOf(response);
    body ??= (trace ?? reply).startChunked(answer?.status ?? 200, EVENT_HEADERS);
    if (answer !== undefined && !body.write(event(answer.body))) {
      if (backlog.empty) body.onDrain(() => backlog.clear());
      const tooSlow = backlog.add(answer.body.length);
      if (tooSlow !== undefined) {
        context.log.warning(`stream of model '${route.model}' ended: ${tooSlow.message}`);
        body.write(event(errorBody(tooSlow.message)));
        pending.cancel();
      }
      ended = tooSlow !== undefined;
    }
    if (final || ended) body.end();
  });
  reply.onClose(() => pending.cancel());
}

function startTrace(
  { tracer }: ServerContext,
  route: HttpRoute,
  request: Http1Request,
  reply: Http1Reply,
): HttpTrace | undefined {
  return tracer.active ? HttpTrace.start(tracer, route.model, request, reply) : undefined;
}

/** Encoding, decoding and submission in the original's order; what is thrown is answered as plain JSON. */
function submit(
  context: ServerContext,
  model: ReadyModel,
  request: Http1Request,
  trace: HttpTrace | undefined,
  listener: RequestTrace | undefined,
  onResponse: ResponseHandler,
): PendingRequest {
  if (trace === undefined) return decodeAndSubmit(context, model, request, listener, onResponse);
  try {
    return decodeAndSubmit(context, model, request, listener, (response, final) => {
      if (response !== undefined || model.decoupled) trace.responded();
      onResponse(response, final);
    });
  } catch (reason) {
    trace.end();
    throw reason;
  }
}

function decodeAndSubmit(
  context: ServerContext,
  model: ReadyModel,
  request: Http1Request,
  listener: RequestTrace | undefined,
  onResponse: ResponseHandler,
): PendingRequest {
  const encoding = request.header('content-encoding');
  if (encoding !== undefined && encoding !== 'identity') {
    throw invalidArg("Unsupported content-encoding, only 'identity' is supported.");
  }
  const inference = decodeGenerateRequest(request.body, model, context.options.http);
  return model.submit(listener === undefined ? inference : { ...inference, trace: listener }, onResponse);
}

interface Answer {
  readonly status: number;
  readonly body: Uint8Array;
}

function answerOf(response: InferenceResponse): Answer {
  try {
    if (response.error !== undefined) throw response.error;
    return { status: 200, body: encodeGenerateResponse(response) };
  } catch (reason) {
    return { status: ERROR_STATUS, body: errorBody(TritonError.from(reason).message) };
  }
}

/** `data: <json>` and an empty line. */
function event(json: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from('data: '), json, Buffer.from('\n\n')]);
}
