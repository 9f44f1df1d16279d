import { invalidArg } from '../../../base/error.js';
import type { JsonValue } from '../../../protocol/json/json-value.js';
import { parseJsonSteps } from '../../../protocol/json/parse-json.js';
import type { Steps } from '../../../protocol/steps.js';
import type { Http1Reply, Http1Request } from '../../../transport/http1/http1-api.js';
import type { ServerContext } from '../../context/server-context.js';
import { sendError } from './respond.js';
import { whenDone } from './when-done.js';

/**
 * Parses the body of a request, an empty one too (which is a syntax error), and goes on with it: at once, or in a later
 * turn of the event loop for a large one. Whatever is thrown is sent as JSON; INVALID_ARG above the input size.
 */
export function withBody(
  context: ServerContext,
  { body }: Http1Request,
  reply: Http1Reply,
  use: (body: JsonValue) => void,
): void {
  whenDone(parseBody(context, body), reply, use, (reason) => sendError(reply, reason, 'application/json'));
}

/** The same for a body that may be left out. */
export function withOptionalBody(
  context: ServerContext,
  request: Http1Request,
  reply: Http1Reply,
  use: (body: JsonValue | undefined) => void,
): void {
  if (request.body.length === 0) use(undefined);
  else withBody(context, request, reply, use);
}

function* parseBody(context: ServerContext, body: Uint8Array): Steps<JsonValue> {
  const { maxInputSize } = context.options.http;
  if (body.length > maxInputSize) {
    throw invalidArg(
      `request JSON size of ${body.length} bytes exceeds the maximum allowed input size of ${maxInputSize} bytes. ` +
        'Use --http-max-input-size to increase the limit.',
    );
  }
  return yield* parseJsonSteps(body);
}
