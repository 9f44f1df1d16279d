import type { ReadyModel } from '../../../contract/engine.js';
import type { InferenceResponse } from '../../../contract/request.js';
import { TritonError } from '../../../protocol/error.js';
import { requestPrefix } from '../../../protocol/infer/request-prefix.js';
import { cutText } from '../../../transport/cut-text.js';
import type { HeaderList, Http1Reply, Http1Request } from '../../../transport/http1/http1-api.js';
import type { ServerContext } from '../../context/server-context.js';
import { withForwardedHeaders } from '../../infer/forward-headers.js';
import type { DecodedInferRequest } from '../../infer/output-form.js';
import { RequestTiming, TIMING_HEADER } from '../../infer/request-timing.js';
import { VerboseBuffers } from '../../infer/verbose-buffers.js';
import { viewedBytes } from '../../infer/viewed-bytes.js';
import { HttpTrace } from '../infer/call-trace.js';
import {
  decodeHttpInferRequestSteps,
  encodeHttpInferResponseSteps,
  type HttpInferResponse,
  parseInferenceHeaderLength,
} from '../infer/decode-request.js';
import { compress, decompress, isCompressed, responseEncoding } from '../message/compression.js';
import { errorBody, JSON_HEADERS, sendError } from '../message/respond.js';
import { whenDone } from '../message/when-done.js';
import type { HttpRoute } from '../route/route.js';

const UNSUPPORTED_ENCODING: HeaderList = [['Accept-Encoding', 'gzip, deflate']];

/** `POST /v2/models/M[/versions/V]/infer`: lookup, decompression, decoding, submission, in the order of section 3.2. */
export function infer(context: ServerContext, route: HttpRoute, request: Http1Request, reply: Http1Reply): void {
  const model = context.engine.model(route.model, route.version);
  if (model.decoupled) {
    throw new TritonError('UNSUPPORTED', "HTTP end point doesn't support models with decoupled transaction policy");
  }
  const { tracer } = context;
  const trace = tracer.active ? HttpTrace.start(tracer, route.model, request, reply) : undefined;
  if (trace === undefined) {
    decode(context, model, route.version, request, reply, undefined);
    return;
  }
  try {
    decode(context, model, route.version, request, trace, trace);
  } catch (reason) {
    trace.end();
    throw reason;
  }
}

function decode(
  context: ServerContext,
  model: ReadyModel,
  version: string,
  request: Http1Request,
  reply: Http1Reply,
  trace: HttpTrace | undefined,
): void {
  const encoding = request.header('content-encoding');
  if (encoding === undefined) {
    run(context, model, version, request, reply, request.body, trace);
    return;
  }
  let compressed: boolean;
  try {
    compressed = isCompressed(encoding);
  } catch (reason) {
    reply.send(501, UNSUPPORTED_ENCODING, errorBody(TritonError.from(reason).message));
    return;
  }
  if (!compressed) {
    run(context, model, version, request, reply, request.body, trace);
    return;
  }
  decompress(request.body, context.options.http.maxInputSize, reply)
    .then((body) => run(context, model, version, request, reply, body, trace))
    .catch((reason) => sendError(reply, reason, 'text/plain'));
}

function run(
  context: ServerContext,
  model: ReadyModel,
  version: string,
  request: Http1Request,
  reply: Http1Reply,
  body: Uint8Array,
  trace: HttpTrace | undefined,
): void {
  const headerLength = parseInferenceHeaderLength(request.header('inference-header-content-length'));
  const steps = decodeHttpInferRequestSteps(body, headerLength, model, context.decoding.http);
  whenDone(
    steps,
    reply,
    (decoded) => submit(context, model, version, request, reply, body, decoded, trace),
    (reason) => refuse(context, reply, '', reason),
    () => trace?.end(),
  );
}

function refuse({ log }: ServerContext, reply: Http1Reply, id: string, reason: unknown): void {
  if (log.isVerbose(1))
    log.verbose(1, cutText(`${requestPrefix(id)}Infer failed: ${TritonError.from(reason).message}`));
  sendError(reply, reason, 'application/json');
}

function submit(
  context: ServerContext,
  model: ReadyModel,
  version: string,
  request: Http1Request,
  reply: Http1Reply,
  body: Uint8Array,
  decoded: DecodedInferRequest,
  trace: HttpTrace | undefined,
): void {
  const { log } = context;
  try {
    const { headerForward } = context.options.http;
    const inference =
      headerForward === undefined
        ? decoded.request
        : withForwardedHeaders(decoded.request, headerForward, request.headers());
    const buffers = log.isVerbose(1) ? new VerboseBuffers(log, 'http', version) : undefined;
    const timing = request.header(TIMING_HEADER) === undefined ? undefined : new RequestTiming(trace?.request);
    const listener = timing ?? trace?.request;
    let count = 0;
    let answer: InferenceResponse | undefined;
    const watched = listener !== undefined || buffers !== undefined;
    const submitted = watched ? { ...inference, trace: listener, verbose: buffers } : inference;
    reply.handOver(viewedBytes(inference, body));
    const pending = model.submit(submitted, (response, final) => {
      if (response !== undefined) {
        trace?.responded();
        count++;
        answer = response;
      }
      if (!final) return;
      const finish = () => {
        respond(count === 1 ? answer : undefined, count, decoded, model, request, reply, timing, () => {
          buffers?.release();
          decoded.sharedMemory?.release();
        });
      };
      if (timing === undefined) finish();
      else timing.whenKnown(finish);
    });
    // A client whose connection is gone needs no response: what is queued is dropped, models that ask learn of it.
    reply.onClose(() => pending.cancel());
  } catch (reason) {
    decoded.sharedMemory?.release();
    refuse(context, reply, decoded.request.id, reason);
  }
}

/** Encodes and sends the response; `encoded` is called once the tensors are not needed any more. */
function respond(
  answer: InferenceResponse | undefined,
  count: number,
  decoded: DecodedInferRequest,
  model: ReadyModel,
  request: Http1Request,
  reply: Http1Reply,
  timing: RequestTiming | undefined,
  encoded: () => void,
): void {
  const fail = (reason: unknown): void => {
    encoded();
    sendError(reply, reason, 'text/plain');
  };
  if (answer === undefined) fail(new TritonError('INTERNAL', `expected a single response, got ${count}`));
  else if (answer.error !== undefined) fail(answer.error);
  else {
    whenDone(
      encodeHttpInferResponseSteps(answer, decoded, model),
      reply,
      (response) => {
        encoded();
        sendResponse(response, request, reply, timing);
      },
      fail,
      encoded,
    );
  }
}

function sendResponse(
  { contentType, headerLength, chunks }: HttpInferResponse,
  request: Http1Request,
  reply: Http1Reply,
  timing: RequestTiming | undefined,
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
