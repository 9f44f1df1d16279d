import type { ReadyModel } from '../../../contract/engine.js';
import type { InferenceResponse, PendingRequest } from '../../../contract/request.js';
import type { RequestTrace } from '../../../contract/request-trace.js';
import { httpStatusOf, invalidArg, TritonError } from '../../../protocol/error.js';
import { Abandoned, inTurns, type Steps } from '../../../protocol/steps.js';
import type { HeaderList, Http1ChunkedBody, Http1Reply, Http1Request } from '../../../transport/http1/http1-api.js';
import type { ServerContext } from '../../context/server-context.js';
import { RequestTiming, TIMING_HEADER } from '../../infer/request-timing.js';
import { StreamBacklog } from '../../infer/stream-backlog.js';
import { HttpTrace } from '../infer/call-trace.js';
import { decodeGenerateRequestSteps, encodeGenerateResponseSteps } from '../infer/generate-request.js';
import { errorBody, JSON_HEADERS, sendError } from '../message/respond.js';
import { whenDone } from '../message/when-done.js';
import type { HttpRoute } from '../route/route.js';

const EVENT_HEADERS: HeaderList = [['Content-Type', 'text/event-stream; charset=utf-8']];
const NOT_ONE_RESPONSE =
  'generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses';
const DATA = Buffer.from('data: ');
const END_OF_EVENT = Buffer.from('\n\n');
/** The status of a first response that is an error, whatever its code: as clients see it from the original. */
const ERROR_STATUS = httpStatusOf('INVALID_ARG');

/** `POST /v2/models/M/generate`: one response as one JSON object, sent chunked. */
export function generate(context: ServerContext, route: HttpRoute, request: Http1Request, reply: Http1Reply): void {
  const model = context.engine.model(route.model, route.version);
  const trace = startTrace(context, route, request, reply);
  const timing = request.header(TIMING_HEADER) === undefined ? undefined : new RequestTiming(trace?.request);
  let count = 0;
  let first: InferenceResponse | undefined;
  const send = (answer: Answer | undefined): void => {
    const headers = timing === undefined ? JSON_HEADERS : [...JSON_HEADERS, ...timing.headers()];
    const body = (trace ?? reply).startChunked(answer?.status ?? 200, headers);
    for (const piece of count === 1 && answer !== undefined ? answer.pieces : [errorBody(NOT_ONE_RESPONSE)]) {
      body.write(piece);
    }
    body.end();
  };
  const finish = (): void => {
    if (first === undefined) send(undefined);
    else whenDone(answerOf(first), reply, send, (reason) => sendError(reply, reason, 'application/json'));
  };
  submit(context, model, request, reply, trace, timing ?? trace?.request, (response, final) => {
    if (response !== undefined) {
      count++;
      first ??= response;
    }
    if (!final) return;
    if (timing === undefined) finish();
    else timing.whenKnown(finish);
  });
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
  const send = (answer: Answer | undefined, final: boolean, cancel: () => void): void => {
    if (ended) return;
    body ??= (trace ?? reply).startChunked(answer?.status ?? 200, EVENT_HEADERS);
    if (answer !== undefined && !writeEvent(body, answer.pieces)) {
      if (backlog.empty) body.onDrain(() => backlog.clear());
      const tooSlow = backlog.add(lengthOf(answer.pieces));
      if (tooSlow !== undefined) giveUp(tooSlow.message, cancel);
    }
    if (final && !ended) body.end();
  };
  /** Ends the stream with an error event; what waits is dropped. */
  const giveUp = (message: string, cancel: () => void): void => {
    ended = true;
    context.log.warning(`stream of model '${route.model}' ended: ${message}`);
    body ??= (trace ?? reply).startChunked(ERROR_STATUS, EVENT_HEADERS);
    writeEvent(body, [errorBody(message)]);
    body.end();
    cancel();
  };
  /** Bytes of the responses that wait to be encoded. */
  let unencoded = 0;
  // Responses that follow one whose encoding takes turns wait for it.
  let last: Promise<void> | undefined;
  submit(context, model, request, reply, trace, trace?.request, (response, final, cancel) => {
    const use = (answer: Answer | undefined): void => send(answer, final, cancel);
    const steps: Steps<Answer | undefined> = response === undefined ? noAnswer() : answerOf(response);
    if (last === undefined) {
      const first = steps.next();
      if (first.done) {
        use(first.value);
        return;
      }
    }
    if (ended) return;
    const size = response === undefined ? 0 : sizeOf(response);
    unencoded += size;
    const limit = context.options.streamMaxBacklog;
    if (limit !== 0 && last !== undefined && unencoded > limit) {
      const why = `the model answers faster than its responses can be encoded as JSON: ${unencoded} bytes of them wait`;
      giveUp(`${why}, more than the ${limit} of --stream-max-backlog`, cancel);
      return;
    }
    const mine: Promise<void> = (last ?? Promise.resolve())
      .then(() => inTurns(steps, () => reply.closed || ended))
      .then(use)
      .catch((reason) => {
        if (!(reason instanceof Abandoned))
          context.log.error(`HTTP handler failed: ${String((reason as Error).stack)}`);
        ended = true;
        cancel();
        body?.end();
      })
      .finally(() => {
        unencoded -= size;
        if (last === mine) last = undefined;
      });
    last = mine;
  });
}

/** The answer of a response that only ends the stream. */
function* noAnswer(): Steps<undefined> {}

function startTrace(
  { tracer }: ServerContext,
  route: HttpRoute,
  request: Http1Request,
  reply: Http1Reply,
): HttpTrace | undefined {
  return tracer.active ? HttpTrace.start(tracer, route.model, request, reply) : undefined;
}

/** Gets what the model answers, and how to cancel the request. */
type Listener = (response: InferenceResponse | undefined, final: boolean, cancel: () => void) => void;

/** Encoding, decoding and submission in the original's order; what is thrown is answered as plain JSON. */
function submit(
  context: ServerContext,
  model: ReadyModel,
  request: Http1Request,
  reply: Http1Reply,
  trace: HttpTrace | undefined,
  listener: RequestTrace | undefined,
  onResponse: Listener,
): void {
  const encoding = request.header('content-encoding');
  if (encoding !== undefined && encoding !== 'identity') {
    trace?.end();
    throw invalidArg("Unsupported content-encoding, only 'identity' is supported.");
  }
  whenDone(
    decodeGenerateRequestSteps(request.body, model, context.options.http),
    reply,
    (inference) => {
      let cancelled = false;
      let pending: PendingRequest | undefined;
      const cancel = (): void => {
        cancelled = true;
        pending?.cancel();
      };
      pending = model.submit(
        listener === undefined ? inference : { ...inference, trace: listener },
        (response, final) => {
          if (response !== undefined || model.decoupled) trace?.responded();
          onResponse(response, final, cancel);
        },
      );
      // A model may answer before `submit` returns.
      if (cancelled) pending.cancel();
      reply.onClose(cancel);
    },
    (reason) => {
      trace?.end();
      sendError(reply, reason, 'application/json');
    },
    () => trace?.end(),
  );
}

/** A response as JSON, or as the error that it is. */
interface Answer {
  readonly status: number;
  readonly pieces: readonly Uint8Array[];
}

/** Never throws. */
function* answerOf(response: InferenceResponse): Steps<Answer> {
  try {
    if (response.error !== undefined) throw response.error;
    return { status: 200, pieces: yield* encodeGenerateResponseSteps(response) };
  } catch (reason) {
    return { status: ERROR_STATUS, pieces: [errorBody(TritonError.from(reason).message)] };
  }
}

/** Bytes of a response's tensors. */
function sizeOf({ outputs }: InferenceResponse): number {
  let size = 0;
  for (const { data } of outputs) size += data.byteLength;
  return size;
}

function lengthOf(pieces: readonly Uint8Array[]): number {
  let length = 0;
  for (const piece of pieces) length += piece.length;
  return length;
}

/** `data: <json>` and an empty line. What `write` says of the last piece holds for all. */
function writeEvent(body: Http1ChunkedBody, pieces: readonly Uint8Array[]): boolean {
  if (pieces.length === 1) return body.write(Buffer.concat([DATA, pieces[0]!, END_OF_EVENT]));
  body.write(DATA);
  for (const piece of pieces) body.write(piece);
  return body.write(END_OF_EVENT);
}
