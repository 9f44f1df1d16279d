import { TritonError } from '../../../base/error.js';
import type { InferenceResponse } from '../../../contract/request.js';
import type { HeaderList, Http1Reply, Http1Request } from '../../../transport/http1/http1-api.js';
import type { ServerContext } from '../../context/server-context.js';
import { type CallKind, InferenceCall, logRefusal } from '../../infer/inference-call.js';
import type { DecodedInferRequest } from '../../infer/output-form.js';
import { HttpCallClient } from '../infer/call-client.js';
import { HttpTrace } from '../infer/call-trace.js';
import { decodeHttpInferRequestSteps, parseInferenceHeaderLength } from '../infer/decode-request.js';
import { encodeHttpInferResponseSteps, type HttpInferResponse } from '../infer/encode-response.js';
import { compress, decompress, isCompressed, responseEncoding } from '../message/compression.js';
import { errorBody, JSON_HEADERS, sendError } from '../message/respond.js';
import { whenDone } from '../message/when-done.js';
import type { HttpRoute } from '../route/endpoint.js';

const KIND: CallKind = {
  protocol: 'http',
  refusesDecoupled: "HTTP end point doesn't support models with decoupled transaction policy",
  forwardsHeaders: true,
  timed: true,
  logsBuffers: true,
};

const UNSUPPORTED_ENCODING: HeaderList = [['Accept-Encoding', 'gzip, deflate']];

/** A request on its way: each of the steps below goes on with the next one. */
interface Exchange {
  readonly context: ServerContext;
  readonly call: InferenceCall<HttpTrace>;
  readonly request: Http1Request;
  /** The trace stands in for the reply where there is one: it sees when the response is sent, and ends then. */
  readonly reply: Http1Reply;
}

/** `POST /v2/models/M[/versions/V]/infer`: look-up, decompression, decoding, submission, in this order. */
export function infer(context: ServerContext, route: HttpRoute, request: Http1Request, reply: Http1Reply): void {
  const call = InferenceCall.begin(context, KIND, route, (tracer) =>
    HttpTrace.start(tracer, route.model, request, reply),
  );
  try {
    receive({ context, call, request, reply: call.trace ?? reply });
  } catch (reason) {
    call.trace?.end();
    throw reason;
  }
}

/** Decompresses the body where it is compressed. */
function receive(exchange: Exchange): void {
  const { context, request, reply } = exchange;
  let compressed: boolean;
  try {
    compressed = isCompressed(request.header('content-encoding'));
  } catch (reason) {
    reply.send(501, UNSUPPORTED_ENCODING, errorBody(TritonError.from(reason).message));
    return;
  }
  if (!compressed) {
    decode(exchange, request.body);
    return;
  }
  decompress(request.body, context.options.http.maxInputSize, reply)
    .then((body) => decode(exchange, body))
    .catch((reason) => sendError(reply, reason, 'text/plain'));
}

function decode(exchange: Exchange, body: Uint8Array): void {
  const { context, call, request, reply } = exchange;
  const headerLength = parseInferenceHeaderLength(request.header('inference-header-content-length'));
  whenDone(
    decodeHttpInferRequestSteps(body, headerLength, call.model, context.decoding.http),
    reply,
    (decoded) => submit(exchange, decoded, body),
    (reason) => {
      logRefusal(context.log, call.id, reason);
      sendError(reply, reason, 'application/json');
    },
    () => call.trace?.end(),
  );
}

function submit(exchange: Exchange, decoded: DecodedInferRequest, body: Uint8Array): void {
  const { call, request, reply } = exchange;
  call.submitForOne(decoded, new HttpCallClient(request, reply, body), (response, count) => {
    if (count !== 1) fail(exchange, new TritonError('INTERNAL', `expected a single response, got ${count}`));
    else respond(exchange, decoded, response!);
  });
}

/** Encodes and sends the response. The tensors are not needed any more once it is encoded. */
function respond(exchange: Exchange, decoded: DecodedInferRequest, response: InferenceResponse): void {
  const { call, reply } = exchange;
  if (response.error !== undefined) {
    fail(exchange, response.error);
    return;
  }
  whenDone(
    encodeHttpInferResponseSteps(response, decoded, call.model),
    reply,
    (encoded) => {
      call.release();
      send(exchange, encoded);
    },
    (reason) => fail(exchange, reason),
    () => call.release(),
  );
}

function fail({ call, reply }: Exchange, reason: unknown): void {
  call.release();
  sendError(reply, reason, 'text/plain');
}

function send(
  { call: { timing }, request, reply }: Exchange,
  { contentType, headerLength, chunks }: HttpInferResponse,
): void {
  let headers: HeaderList =
    headerLength === undefined
      ? JSON_HEADERS
      : [
          ['Content-Type', contentType],
          ['Inference-Header-Content-Length', String(headerLength)],
        ];
  if (timing !== undefined) headers = [...headers, ...timing.headers()];
  const encoding = responseEncoding(request.header('accept-encoding'));
  if (encoding === 'identity') {
    reply.send(200, headers, chunks);
    return;
  }
  compress(chunks, encoding)
    .then((body) => reply.send(200, [...headers, ['Content-Encoding', encoding]], body))
    .catch((reason) => sendError(reply, reason, 'text/plain'));
}
