import type { ReadyModel } from '../../engine/engine-api.js';
import { configToJson } from '../../modelconfig/json.js';
import type { Http1Reply, Http1Request } from '../../transport/http1/http1-api.js';
import type { ServerContext } from '../server-context.js';
import { sendJson } from './respond.js';
import type { HttpRoute } from './route.js';

const known = new WeakMap<ReadyModel, Buffer>();

/** `/v2/models/M[/versions/V]/config`: the completed configuration, encoded once per model. */
export function modelConfig(context: ServerContext, route: HttpRoute, _request: Http1Request, reply: Http1Reply): void {
  const model = context.engine.model(route.model, route.version);
  let body = known.get(model);
  if (body === undefined) {
    body = Buffer.from(configToJson(model.config));
    known.set(model, body);
  }
  sendJson(reply, body);
}
