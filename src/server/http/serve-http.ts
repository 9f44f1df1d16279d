import { nowNs } from '../../base/clock.js';
import { cutText } from '../../transport/cut-text.js';
import type { Http1Handler, Http1Reply, Http1Request } from '../../transport/http1/http1-api.js';
import { serveHttp1 } from '../../transport/http1/serve-http1.js';
import type { ServerContext } from '../context/server-context.js';
import { Endpoint, type ServeSocket } from '../listen/endpoint.js';
import { modelConfig } from './handlers/config.js';
import { generate, generateStream } from './handlers/generate.js';
import { modelReady, serverHealth } from './handlers/health.js';
import { infer } from './handlers/infer.js';
import { logging } from './handlers/logging.js';
import { modelMetadata, serverMetadata } from './handlers/metadata.js';
import { repositoryIndex, repositoryLoad, repositoryUnload } from './handlers/repository.js';
import { sharedMemoryRegister, sharedMemoryStatus, sharedMemoryUnregister } from './handlers/shared-memory.js';
import { statistics } from './handlers/statistics.js';
import { traceSetting } from './handlers/trace.js';
import { withCors } from './message/cors.js';
import { errorBody, JSON_HEADERS, NO_HEADERS, sendError } from './message/respond.js';
import { openApi } from './openapi.js';
import { resolveModelName } from './route/resolve-model-name.js';
import { AREA_RULES, type HttpArea, type HttpRoute, routeOf } from './route/route.js';

/** Answers one request of an area. Throws a TritonError for the answer of the area's error type. */
export type AreaHandler = (context: ServerContext, route: HttpRoute, request: Http1Request, reply: Http1Reply) => void;

const HANDLERS: Readonly<Record<HttpArea, AreaHandler>> = {
  live: serverHealth,
  ready: serverHealth,
  'model-ready': modelReady,
  'server-metadata': serverMetadata,
  'model-metadata': modelMetadata,
  config: modelConfig,
  infer,
  generate,
  'generate-stream': generateStream,
  statistics,
  index: repositoryIndex,
  load: repositoryLoad,
  unload: repositoryUnload,
  trace: traceSetting,
  logging,
  'shared-memory-status': sharedMemoryStatus,
  'shared-memory-register': sharedMemoryRegister,
  'shared-memory-unregister': sharedMemoryUnregister,
  openapi: openApi,
};

const NOT_FOUND = errorBody('Not Found');
const NOT_ALLOWED = errorBody('Method Not Allowed');
/** Numbers that the original's verbose log shows for methods; those it does not know are 16. */
const METHOD_NUMBERS =
  'GET HEAD POST PUT DELETE MKCOL COPY MOVE OPTIONS PROPFIND PROPPATCH LOCK UNLOCK TRACE CONNECT PATCH'.split(' ');
/** Paths whose routes are remembered; clients ask for few, and a flood of others only empties the memory. */
const MAX_KNOWN_ROUTES = 1024;

/**
 * A request that was under way to an idle connection when a stop began arrives within this time, is answered, and its
 * answer says that the connection closes.
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

/** Serves a socket with a handler; answers given while the endpoint stops close their connection. */
export function httpSocket(
  handler: Http1Handler,
  context: Pick<ServerContext, 'log' | 'tracer' | 'budgets' | 'options'>,
): ServeSocket {
  const { http } = context.options;
  const options = {
    onHandlerError: (error: unknown) =>
      context.log.error(cutText(`HTTP handler failed: ${String((error as Error)?.stack)}`)),
    stallTimeoutMs: http.clientTimeoutSeconds * 1000,
    halfClose: http.halfClose,
    requireHost: true,
    requestBudget: context.budgets.requests,
    responseBudget: context.budgets.responses,
    receiveClock: {
      get enabled() {
        return context.tracer.active;
      },
      nowNs,
    },
  };
  return (socket, endpoint) => {
    const connection = serveHttp1(
      socket,
      (request, reply) => {
        if (endpoint.stopping) connection.shutdown();
        handler(request, reply);
      },
      options,
    );
    return connection;
  };
}

/** Routing, restriction, method, then the area's handler, in that order (spec: wire protocol, sections 1.5 and 1.6). */
export function createHttpHandler(context: ServerContext): Http1Handler {
  const { restrictions } = context.options.http;
  const known = new Map<string, HttpRoute | undefined>();
  return (request, reply) => {
    const { path } = request;
    let route = known.get(path);
    if (route === undefined) {
      route = routeOf(path);
      if (known.size >= MAX_KNOWN_ROUTES) known.clear();
      if (route !== undefined) known.set(path, route);
    }
    if (context.log.isVerbose(1)) logRequest(context, request);
    if (route === undefined) {
      reply.send(404, NO_HEADERS, NOT_FOUND);
      return;
    }
    const rule = AREA_RULES[route.area];
    const restriction = restrictions.size === 0 ? undefined : restrictions.get(rule.category);
    if (restriction !== undefined && request.header(restriction.key.toLowerCase()) !== restriction.value) {
      reply.send(403, NO_HEADERS, errorBody(`This API is restricted, expecting header '${restriction.key}'`));
      return;
    }
    if (!((rule.post && request.method === 'POST') || (rule.get && request.method === 'GET'))) {
      reply.send(405, rule.contentType === 'application/json' ? JSON_HEADERS : NO_HEADERS, NOT_ALLOWED);
      return;
    }
    try {
      HANDLERS[route.area](context, resolveModelName(context.engine, route), request, reply);
    } catch (reason) {
      sendError(reply, reason, rule.contentType);
    }
  };
}

function logRequest(context: ServerContext, request: Http1Request): void {
  const number = METHOD_NUMBERS.indexOf(request.method);
  context.log.verbose(1, `HTTP request: ${number < 0 ? METHOD_NUMBERS.length : number} ${request.path}`);
}
