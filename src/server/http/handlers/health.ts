import { TritonError } from '../../../base/error.js';
import type { Http1Reply, Http1Request } from '../../../transport/http1/http1-api.js';
import type { ServerContext } from '../../context/server-context.js';
import { errorBody, NO_HEADERS, sendError } from '../message/respond.js';
import type { HttpRoute } from '../route/endpoint.js';

/** `/v2/health/live`: 200 or 400, both without a body. */
export function serverLive(
  { engine }: ServerContext,
  _route: HttpRoute,
  _request: Http1Request,
  reply: Http1Reply,
): void {
  reply.send(engine.isLive() ? 200 : 400, NO_HEADERS);
}

/** `/v2/health/ready`: 200 or 400, both without a body. */
export function serverReady(
  { engine }: ServerContext,
  _route: HttpRoute,
  _request: Http1Request,
  reply: Http1Reply,
): void {
  whenKnown(engine.isReady(), reply, (yes) => reply.send(yes ? 200 : 400, NO_HEADERS));
}

/** Goes on in the same turn where the response is known already. */
function whenKnown(answer: boolean | Promise<boolean>, reply: Http1Reply, use: (answer: boolean) => void): void {
  if (answer instanceof Promise) answer.then(use, (reason) => sendError(reply, reason, 'text/plain'));
  else use(answer);
}

/** `/v2/models/M/ready`: 200 without a body, else 400; only a version that is not a number is another error. */
export function modelReady(context: ServerContext, route: HttpRoute, _request: Http1Request, reply: Http1Reply): void {
  let ready: boolean | Promise<boolean> = false;
  try {
    ready = context.engine.isModelReady(route.model, route.version);
  } catch (reason) {
    const error = TritonError.from(reason);
    if (error.code !== 'NOT_FOUND' && error.code !== 'UNAVAILABLE') {
      sendError(reply, error, 'text/plain');
      return;
    }
  }
  whenKnown(ready, reply, (yes) => {
    if (yes) reply.send(200, NO_HEADERS);
    else reply.send(400, NO_HEADERS, errorBody('Model version not ready'));
  });
}
