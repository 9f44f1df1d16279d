import type { ServerContext } from '../context/server-context.js';
import { errorBody, JSON_HEADERS } from '../http/message/respond.js';
import { Endpoint } from '../listen/endpoint.js';
import { httpSocket } from '../listen/http-socket.js';
import type { ServerMetrics } from './server-metrics.js';

const HEADERS = [['Content-Type', 'text/plain; charset=utf-8']] as const;
const NOT_ALLOWED = errorBody('Method Not Allowed');

/** Starts the metrics endpoint: every path but /metrics gets 200 without a body, as from Triton. */
export function serveMetrics(context: ServerContext, metrics: ServerMetrics): Promise<Endpoint> {
  return Endpoint.listen(
    context.options.metrics,
    httpSocket((request, reply) => {
      if (request.method !== 'GET') reply.send(405, JSON_HEADERS, NOT_ALLOWED);
      else if (request.path === '/metrics' || request.path === '/metrics/') {
        reply.send(200, HEADERS, Buffer.from(metrics.text()));
      } else reply.send(200, HEADERS);
    }, context),
    { protocol: 'http/1.1' },
  );
}
