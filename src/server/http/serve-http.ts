import type { Http1Handler, Http1Request } from '../../transport/http1/http1-api.js';
import type { ServerContext } from '../context/server-context.js';
import { Endpoint } from '../listen/endpoint.js';
import { httpSocket } from '../listen/http-socket.js';
import { ENDPOINTS } from './endpoints.js';
import { withCors } from './message/cors.js';
import { errorBody, JSON_HEADERS, NO_HEADERS, sendError } from './message/respond.js';
import { resolveModelName } from './route/resolve-model-name.js';
import { Router } from './route/router.js';

const NOT_FOUND = errorBody('Not Found');
const NOT_ALLOWED = errorBody('Method Not Allowed');
/** Numbers that Triton's verbose log shows for methods (htp_method of libevhtp); methods that it does not know are 16. */
const METHOD_NUMBERS =
  'GET HEAD POST PUT DELETE MKCOL COPY MOVE OPTIONS PROPFIND PROPPATCH LOCK UNLOCK TRACE CONNECT PATCH'.split(' ');

/**
 * A request that was under way to an idle connection when a stop began arrives within this time, gets its
 * response, and that says that the connection closes.
 */
const IDLE_GRACE_MS = 250;

/** Starts the HTTP endpoint. */
export function serveHttp(context: ServerContext): Promise<Endpoint> {
  const { http } = context.options;
  let handler = createHttpHandler(context);
  if (http.corsOrigins.length > 0) handler = withCors(handler, http.corsOrigins);
  return Endpoint.listen(http, httpSocket(handler, context), {
    protocol: 'http/1.1',
    security: http.tls,
    idleGraceMs: IDLE_GRACE_MS,
  });
}

/** Looks the endpoint up, checks its restriction and the method, then calls the handler, in this order. */
export function createHttpHandler(context: ServerContext): Http1Handler {
  const { restrictions } = context.options.http;
  const router = new Router(ENDPOINTS);
  return (request, reply) => {
    const route = router.find(request.path);
    if (context.log.isVerbose(1)) logRequest(context, request);
    if (route === undefined) {
      reply.send(404, NO_HEADERS, NOT_FOUND);
      return;
    }
    const { category, errors, handler, get, post } = route.endpoint;
    const restriction = restrictions.size === 0 ? undefined : restrictions.get(category);
    if (restriction !== undefined && request.header(restriction.key.toLowerCase()) !== restriction.value) {
      reply.send(403, NO_HEADERS, errorBody(`This API is restricted, expecting header '${restriction.key}'`));
      return;
    }
    const { method } = request;
    if ((method === 'POST' ? post : method === 'GET' ? get : undefined) === undefined) {
      reply.send(405, errors === 'application/json' ? JSON_HEADERS : NO_HEADERS, NOT_ALLOWED);
      return;
    }
    try {
      handler(context, resolveModelName(context.engine, route), request, reply);
    } catch (reason) {
      sendError(reply, reason, errors);
    }
  };
}

function logRequest(context: ServerContext, request: Http1Request): void {
  const number = METHOD_NUMBERS.indexOf(request.method);
  context.log.verbose(1, `HTTP request: ${number < 0 ? METHOD_NUMBERS.length : number} ${request.path}`);
}
