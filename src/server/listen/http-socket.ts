import { nowNs } from '../../base/clock.js';
import { cutText } from '../../transport/cut-text.js';
import type { Http1Handler } from '../../transport/http1/http1-api.js';
import { serveHttp1 } from '../../transport/http1/serve-http1.js';
import type { ServerContext } from '../context/server-context.js';
import type { ServeSocket } from './endpoint.js';

/** Serves a socket with a handler; responses that are sent while the endpoint stops close their connection. */
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
