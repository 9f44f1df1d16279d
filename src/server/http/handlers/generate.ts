import type { Http1Reply, Http1Request } from '../../../transport/http1/http1-api.js';
import type { ServerContext } from '../../context/server-context.js';
import type { CallKind, InferenceCall } from '../../infer/inference-call.js';
import type { HttpTrace } from '../infer/call-trace.js';
import { beginGenerate, encodeAnswerSteps, type GenerateAnswer } from '../infer/generate-call.js';
import { errorBody, JSON_HEADERS, sendError } from '../message/respond.js';
import { whenDone } from '../message/when-done.js';
import type { HttpRoute } from '../route/endpoint.js';

const KIND: CallKind = { protocol: 'http', forwardsHeaders: false, timed: true, logsBuffers: false };

const NOT_ONE_RESPONSE =
  'generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses';

/** `POST /v2/models/M/generate`: one response as one JSON object, sent chunked. */
export function generate(context: ServerContext, route: HttpRoute, request: Http1Request, reply: Http1Reply): void {
  beginGenerate({ context, route, request, reply }, KIND, (call, decoded, client) => {
    call.submitForOne(decoded, client, (first, count) => {
      if (first === undefined) sendChunked(call, reply, 200, undefined);
      else {
        whenDone(
          encodeAnswerSteps(first),
          reply,
          (answer) => sendChunked(call, reply, answer.status, count === 1 ? answer : undefined),
          (reason) => sendError(reply, reason, 'application/json'),
        );
      }
    });
  });
}

/** `answer` undefined: there was no response, or more than one. */
function sendChunked(
  { trace, timing }: InferenceCall<HttpTrace>,
  reply: Http1Reply,
  status: number,
  answer: GenerateAnswer | undefined,
): void {
  const headers = timing === undefined ? JSON_HEADERS : [...JSON_HEADERS, ...timing.headers()];
  const body = (trace ?? reply).startChunked(status, headers);
  for (const piece of answer?.pieces ?? [errorBody(NOT_ONE_RESPONSE)]) body.write(piece);
  body.end();
}
