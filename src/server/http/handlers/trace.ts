import type { JsonValue } from '../../../protocol/json/json-value.js';
import type { Http1Reply, Http1Request } from '../../../transport/http1/http1-api.js';
import type { ServerContext } from '../../context/server-context.js';
import { checkModelOfSettings, NUMBER_SETTINGS } from '../../trace/settings-request.js';
import { TraceSettings, type TraceUpdate } from '../../trace/trace-settings.js';
import { withBody } from '../message/json-body.js';
import { sendJson } from '../message/respond.js';
import type { HttpRoute } from '../route/endpoint.js';

/** `/v2[/models/M]/trace/setting`: POST sets what is named (null clears), both methods respond with all settings. */
export function traceSetting(context: ServerContext, route: HttpRoute, request: Http1Request, reply: Http1Reply): void {
  checkModelOfSettings(context.engine, route.model);
  if (request.method !== 'POST') {
    sendSettings(context, route.model, reply);
    return;
  }
  withBody(context, request, reply, (settings) => {
    update(context, route.model, settings);
    sendSettings(context, route.model, reply);
  });
}

function sendSettings(context: ServerContext, model: string, reply: Http1Reply): void {
  // Not through an object: `resource` may come more than once.
  const members = context.tracer.settings
    .view(model)
    .map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  sendJson(reply, `{${members.join()}}`);
}

function update(context: ServerContext, model: string, settings: JsonValue): void {
  if (settings.member('trace_file') !== undefined) throw TraceSettings.fileRefused();
  const wanted: TraceUpdate = {};
  const level = settings.member('trace_level');
  if (level !== undefined) {
    wanted.trace_level = level.isNull ? null : level.asArray().map((element) => element.asString());
  }
  for (const name of NUMBER_SETTINGS) {
    const value = settings.member(name);
    if (value !== undefined) wanted[name] = value.isNull ? null : value.asString();
  }
  context.tracer.settings.update(model, wanted, 'http');
}
