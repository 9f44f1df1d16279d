/** What both endpoints of the generate extension do with a request and with each response. */

import { invalidArg, TritonError } from '../../../base/error.js';
import type { InferenceRequest, InferenceResponse } from '../../../contract/request.js';
import { httpStatusOf } from '../../../protocol/error.js';
import type { Steps } from '../../../protocol/steps.js';
import type { Http1Reply, Http1Request } from '../../../transport/http1/http1-api.js';
import type { ServerContext } from '../../context/server-context.js';
import { type CallKind, InferenceCall } from '../../infer/inference-call.js';
import { errorBody, sendError } from '../message/respond.js';
import { whenDone } from '../message/when-done.js';
import type { HttpRoute } from '../route/endpoint.js';
import { HttpCallClient } from './call-client.js';
import { HttpTrace } from './call-trace.js';
import { decodeGenerateRequestSteps, encodeGenerateResponseSteps } from './generate-request.js';

/** The status of a first response that is an error, whatever its code: that is how clients see it from Triton. */
export const ERROR_STATUS = httpStatusOf('INVALID_ARG');

/** A response as JSON, or as the error that it is. */
export interface GenerateAnswer {
  readonly status: number;
  readonly pieces: readonly Uint8Array[];
}

/** A request to generate or generate_stream, and whom it came from. */
export interface GenerateExchange {
  readonly context: ServerContext;
  readonly route: HttpRoute;
  readonly request: Http1Request;
  readonly reply: Http1Reply;
}

/**
 * Begins the call, decodes the body and has `submit` submit it. Throws what refuses the request before its body is looked
 * at; what is thrown later is sent as JSON.
 */
export function beginGenerate(
  { context, route, request, reply }: GenerateExchange,
  kind: CallKind,
  submit: (
    call: InferenceCall<HttpTrace>,
    decoded: { readonly request: InferenceRequest },
    client: HttpCallClient,
  ) => void,
): void {
  const call = InferenceCall.begin(context, kind, route, (tracer) =>
    HttpTrace.start(tracer, route.model, request, reply),
  );
  const encoding = request.header('content-encoding');
  if (encoding !== undefined && encoding !== 'identity') {
    call.trace?.end();
    throw invalidArg("Unsupported content-encoding, only 'identity' is supported.");
  }
  whenDone(
    decodeGenerateRequestSteps(request.body, call.model, context.options.http),
    reply,
    // Tensors that come from JSON are not views on the body.
    (inference) => submit(call, { request: inference }, new HttpCallClient(request, reply, undefined)),
    (reason) => {
      call.trace?.end();
      sendError(reply, reason, 'application/json');
    },
    () => call.trace?.end(),
  );
}

/** Encodes a response. Never throws. */
export function* encodeAnswerSteps(response: InferenceResponse): Steps<GenerateAnswer> {
  try {
    if (response.error !== undefined) throw response.error;
    return { status: 200, pieces: yield* encodeGenerateResponseSteps(response) };
  } catch (reason) {
    return { status: ERROR_STATUS, pieces: [errorBody(TritonError.from(reason).message)] };
  }
}
