import { TritonError } from '../../../base/error.js';
import type { JsonValue } from '../../../protocol/json/json-value.js';
import type { Http1Reply, Http1Request } from '../../../transport/http1/http1-api.js';
import { LOG_SWITCHES, LogSettingsStore } from '../../context/log-settings.js';
import type { ServerContext } from '../../context/server-context.js';
import { withBody } from '../message/json-body.js';
import { sendJson } from '../message/respond.js';
import type { HttpRoute } from '../route/endpoint.js';

/** `/v2/logging`: POST sets what is named (null changes nothing), both methods respond with all settings. */
export function logging(context: ServerContext, _route: HttpRoute, request: Http1Request, reply: Http1Reply): void {
  const send = (): void => sendJson(reply, JSON.stringify(context.logSettings.view()));
  if (request.method !== 'POST') {
    send();
    return;
  }
  withBody(context, request, reply, (settings) => {
    update(context, settings);
    send();
  });
}

/** In Triton's order, without rolling back when a later one fails. */
function update(context: ServerContext, settings: JsonValue): void {
  const store = context.logSettings;
  const given = (name: string) => {
    const value = settings.member(name);
    return value?.isNull ? undefined : value;
  };
  if (given('log_file') !== undefined) throw LogSettingsStore.fileRefused();
  for (const name of Object.keys(LOG_SWITCHES) as (keyof typeof LOG_SWITCHES)[]) {
    const value = given(name);
    if (value !== undefined) store.setSwitch(name, value.asBool());
  }
  const level = given('log_verbose_level');
  if (level !== undefined) store.setVerboseLevel(level.asUint());
  const format = given('log_format')?.asString();
  if (format !== undefined && !store.setFormat(format)) {
    throw new TritonError('UNAVAILABLE', `invalid argument for --log_format, got: ${format}`);
  }
}
