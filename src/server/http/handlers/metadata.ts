import type { ReadyModel } from '../../../contract/engine.js';
import type { TensorMetadata } from '../../../protocol/tensor.js';
import type { Http1Reply, Http1Request } from '../../../transport/http1/http1-api.js';
import type { ServerContext } from '../../context/server-context.js';
import { exactShape } from '../../infer/exact-shape.js';
import { sendJson } from '../message/respond.js';
import type { HttpRoute } from '../route/endpoint.js';

/** `/v2` */
export function serverMetadata(
  context: ServerContext,
  _route: HttpRoute,
  _request: Http1Request,
  reply: Http1Reply,
): void {
  sendJson(reply, JSON.stringify(context.metadata));
}

/** Platform, inputs and outputs of a model never change: encoded once. */
const tails = new WeakMap<ReadyModel, string>();

/** `/v2/models/M[/versions/V]`: lists the version asked for, else every READY one. */
export function modelMetadata(
  context: ServerContext,
  route: HttpRoute,
  _request: Http1Request,
  reply: Http1Reply,
): void {
  const model = context.engine.model(route.model, route.version);
  const versions = route.version === '' ? context.engine.readyVersions(route.model) : [model.version];
  sendJson(reply, `{"name":${JSON.stringify(model.name)},"versions":${JSON.stringify(versions)},${tailOf(model)}`);
}

function tailOf(model: ReadyModel): string {
  let tail = tails.get(model);
  if (tail === undefined) {
    tail = `"platform":${JSON.stringify(model.platform)},"inputs":${tensors(model.inputs, model.config.input)},"outputs":${tensors(model.outputs, model.config.output)}}`;
    tails.set(model, tail);
  }
  return tail;
}

function tensors(list: readonly TensorMetadata[], configured: Parameters<typeof exactShape>[1]): string {
  const texts = list.map((tensor) => {
    const { name, datatype } = tensor;
    return `{"name":${JSON.stringify(name)},"datatype":"${datatype}","shape":[${exactShape(tensor, configured).join()}]}`;
  });
  return `[${texts.join()}]`;
}
