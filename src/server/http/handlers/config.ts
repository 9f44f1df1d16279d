import { configToJson } from '../../../modelconfig/json/config-json.js';
import type { ModelConfig } from '../../../protocol/proto/model-config.js';
import type { Http1Reply, Http1Request } from '../../../transport/http1/http1-api.js';
import type { ServerContext } from '../../context/server-context.js';
import { sendJson } from '../message/respond.js';
import type { HttpRoute } from '../route/endpoint.js';

const known = new WeakMap<ModelConfig, Buffer>();

/** `/v2/models/M[/versions/V]/config`: the completed configuration, encoded once. A change of the instances makes another. */
export function modelConfig(context: ServerContext, route: HttpRoute, _request: Http1Request, reply: Http1Reply): void {
  const { config } = context.engine.model(route.model, route.version);
  let body = known.get(config);
  if (body === undefined) {
    body = Buffer.from(configToJson(config));
    known.set(config, body);
  }
  sendJson(reply, body);
}
