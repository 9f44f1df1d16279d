import { invalidArg, TritonError } from '../../../base/error.js';
import { jsonError } from '../../../protocol/json/json-error.js';
import type { JsonValue } from '../../../protocol/json/json-value.js';
import type { LoadParameters } from '../../../protocol/management.js';
import type { Http1Reply, Http1Request } from '../../../transport/http1/http1-api.js';
import type { ServerContext } from '../../context/server-context.js';
import { withOptionalBody } from '../message/json-body.js';
import { sendEmptyJson, sendError, sendJson } from '../message/respond.js';
import type { HttpRoute } from '../route/endpoint.js';
import { loadByEitherName } from '../route/resolve-model-name.js';

const INT_MAX = 2147483647;

/** `/v2/repository[/R]/index`: the repository's name is accepted and ignored, as by Triton. */
export function repositoryIndex(
  context: ServerContext,
  _route: HttpRoute,
  request: Http1Request,
  reply: Http1Reply,
): void {
  withOptionalBody(context, request, reply, (body) => {
    const ready = body?.member('ready');
    if (ready !== undefined && !ready.isBool) throw invalidArg("Invalid value for 'ready': expected a boolean");
    context.engine.index(ready?.asBool() ?? false).then(
      (entries) => sendJson(reply, JSON.stringify(entries)),
      (reason) => sendError(reply, reason, 'application/json'),
    );
  });
}

/** `/v2/repository/models/M/load`: responds when the load has ended. */
export function repositoryLoad(
  context: ServerContext,
  route: HttpRoute,
  request: Http1Request,
  reply: Http1Reply,
): void {
  refuseRepository(route);
  withOptionalBody(context, request, reply, (body) => {
    const parameters = loadParameters(body?.member('parameters'));
    answerWhenDone(loadByEitherName(context.engine, route.model, parameters), reply);
  });
}

/** `/v2/repository/models/M/unload`: an `unload_dependents` that is not a boolean counts as false, as in Triton. */
export function repositoryUnload(
  context: ServerContext,
  route: HttpRoute,
  request: Http1Request,
  reply: Http1Reply,
): void {
  refuseRepository(route);
  withOptionalBody(context, request, reply, (body) => {
    const dependents = body?.member('parameters')?.member('unload_dependents');
    answerWhenDone(context.engine.unload(route.model, dependents?.isBool === true && dependents.asBool()), reply);
  });
}

function refuseRepository(route: HttpRoute): void {
  if (route.repository !== undefined) {
    throw new TritonError('UNSUPPORTED', "'repository_name' specification is not supported");
  }
}

function answerWhenDone(done: Promise<void>, reply: Http1Reply): void {
  done.then(
    () => sendEmptyJson(reply),
    (reason) => sendError(reply, reason, 'application/json'),
  );
}

/** `config` and `file:<path>` (base64); every other name is refused with Triton's message. */
function loadParameters(parameters: JsonValue | undefined): LoadParameters {
  if (parameters === undefined) return {};
  let config: string | undefined;
  const files = new Map<string, Uint8Array>();
  for (const [nameValue, value] of parameters.members()) {
    const name = nameValue.asString();
    const text = value.asString();
    if (name === 'config') config = text;
    else if (name.startsWith('file:')) {
      if (text.length > INT_MAX) throw invalidArg(`'${name}' exceeds the maximum allowed data size limit INT_MAX`);
      files.set(name.slice('file:'.length), Buffer.from(text, 'base64'));
    } else throw jsonError('unexpected error on creating Triton parameter');
  }
  return { ...(config === undefined ? {} : { config }), ...(files.size === 0 ? {} : { files }) };
}
