import type { Http1Reply, Http1Request } from '../../transport/http1/http1-api.js';
import type { ServerContext } from '../context/server-context.js';
import { sendJson } from './message/respond.js';
import { openApiDocument } from './openapi/document.js';
import type { HttpRoute } from './route/route.js';

/** `/openapi.json`: the document that describes the others. */
export function openApi(context: ServerContext, _route: HttpRoute, _request: Http1Request, reply: Http1Reply): void {
  sendJson(reply, JSON.stringify(openApiDocument(context.metadata)));
}
