/** The management calls over HTTP: for each, the request that it becomes and how its response is read. */
import { JsonKind, type JsonValue } from '../../protocol/json/json-value.js';
import { create, type FieldTable, type MessageOf, type MessageSchema } from '../../protocol/proto/schema.js';
import {
  CudaRegionStatus,
  type LogSettingsRequestValue,
  LogSettingsResponseValue,
  ModelIndex,
  SystemRegionStatus,
  type TraceSettingRequestValue,
  type TraceSettingResponseValue,
} from '../../protocol/proto/service/service.js';
import { RPCS, type RpcName, type RpcRequest, type RpcResponse } from '../core/transport.js';
import type { HttpResponse } from './exchange.js';
import { modelPath, repositoryPath, sharedMemoryPath, statisticsPath } from './paths.js';
import { readJson, readMessage } from './read-json.js';
import { errorOfResponse } from './response-error.js';

/** A management request; a body is JSON. */
export interface ManagementRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string;
}

/** The form that a management call has over HTTP. */
export interface HttpForm<N extends RpcName> {
  send(request: RpcRequest<N>): ManagementRequest;
  /** Throws the TritonError of a response that is not a good one. */
  receive(response: HttpResponse): RpcResponse<N> | Promise<RpcResponse<N>>;
}

/** The form of every management call. */
export const HTTP_FORMS: { readonly [N in RpcName]: HttpForm<N> } = {
  // The health of a server and of a model is the status alone.
  ServerLive: { send: () => get('/v2/health/live'), receive: ({ status }) => ({ live: status === 200 }) },
  ServerReady: { send: () => get('/v2/health/ready'), receive: ({ status }) => ({ ready: status === 200 }) },
  ModelReady: {
    send: ({ name, version }) => get(modelPath(name, version, 'ready')),
    receive: ({ status }) => ({ ready: status === 200 }),
  },
  ServerMetadata: { send: () => get('/v2'), receive: message('server metadata', RPCS.ServerMetadata.response) },
  ModelMetadata: {
    send: ({ name, version }) => get(modelPath(name, version)),
    receive: message('model metadata', RPCS.ModelMetadata.response),
  },
  ModelConfig: { send: ({ name, version }) => get(modelPath(name, version, 'config')), receive: readModelConfig },
  ModelStatistics: {
    send: ({ name, version }) => get(statisticsPath(name, version)),
    receive: message('model statistics', RPCS.ModelStatistics.response),
  },
  RepositoryIndex: {
    send: ({ ready }) => post('/v2/repository/index', ready ? { ready } : undefined),
    receive: json('repository index', (models) => ({
      models: models.asArray().map((model) => readMessage(ModelIndex, model)),
    })),
  },
  RepositoryModelLoad: {
    send: ({ model_name, parameters }) => post(repositoryPath(model_name, 'load'), loadBody(parameters)),
    receive: nothing(RPCS.RepositoryModelLoad.response),
  },
  RepositoryModelUnload: {
    send: ({ model_name, parameters }) =>
      post(repositoryPath(model_name, 'unload'), {
        parameters: objectOf(parameters, ({ bool_param }) => bool_param),
      }),
    receive: nothing(RPCS.RepositoryModelUnload.response),
  },
  TraceSetting: {
    send: ({ model_name, settings }) => settingsRequest(tracePath(model_name), settings, traceSettingJson),
    receive: json('trace settings', (settings) => ({ settings: mapOf(settings, readTraceSetting) })),
  },
  LogSettings: {
    send: ({ settings }) => settingsRequest('/v2/logging', settings, logSettingJson),
    receive: json('log settings', (settings) => ({ settings: mapOf(settings, readLogSetting) })),
  },
  SystemSharedMemoryStatus: {
    send: ({ name }) => get(sharedMemoryPath('system', name, 'status')),
    receive: json('shared memory status', (regions) => ({ regions: regionsOf(SystemRegionStatus, regions) })),
  },
  SystemSharedMemoryRegister: {
    send: ({ name, key, offset, byte_size }) =>
      postText(
        sharedMemoryPath('system', name, 'register'),
        `{"key":${JSON.stringify(key)},"offset":${offset},"byte_size":${byte_size}}`,
      ),
    receive: nothing(RPCS.SystemSharedMemoryRegister.response),
  },
  SystemSharedMemoryUnregister: {
    send: ({ name }) => post(sharedMemoryPath('system', name, 'unregister')),
    receive: nothing(RPCS.SystemSharedMemoryUnregister.response),
  },
  CudaSharedMemoryStatus: {
    send: ({ name }) => get(sharedMemoryPath('cuda', name, 'status')),
    receive: json('shared memory status', (regions) => ({ regions: regionsOf(CudaRegionStatus, regions) })),
  },
  CudaSharedMemoryRegister: {
    send: ({ name, raw_handle, device_id, byte_size }) =>
      postText(
        sharedMemoryPath('cuda', name, 'register'),
        `{"raw_handle":{"b64":"${base64(raw_handle)}"},"device_id":${device_id},"byte_size":${byte_size}}`,
      ),
    receive: nothing(RPCS.CudaSharedMemoryRegister.response),
  },
  CudaSharedMemoryUnregister: {
    send: ({ name }) => post(sharedMemoryPath('cuda', name, 'unregister')),
    receive: nothing(RPCS.CudaSharedMemoryUnregister.response),
  },
};

function get(path: string): ManagementRequest {
  return { method: 'GET', path };
}

function post(path: string, body?: object): ManagementRequest {
  return body === undefined ? { method: 'POST', path } : postText(path, JSON.stringify(body));
}

/** For bodies with 64-bit integers, which `JSON.stringify` does not write. */
function postText(path: string, body: string): ManagementRequest {
  return { method: 'POST', path, body };
}

/** Reads the JSON of a good response; `what` names it in errors. */
function json<T>(what: string, read: (json: JsonValue) => T): (response: HttpResponse) => T {
  return (response) => {
    if (response.status !== 200) throw errorOfResponse(response);
    return readJson(response.body, what, read);
  };
}

function message<F extends FieldTable>(what: string, schema: MessageSchema<F>) {
  return json(what, (value) => readMessage(schema, value));
}

/** For calls whose good response says nothing. */
function nothing<F extends FieldTable>(
  schema: MessageSchema<F>,
): (response: HttpResponse) => MessageOf<MessageSchema<F>> {
  return (response) => {
    if (response.status !== 200) throw errorOfResponse(response);
    return create(schema);
  };
}

async function readModelConfig(response: HttpResponse): Promise<RpcResponse<'ModelConfig'>> {
  if (response.status !== 200) throw errorOfResponse(response);
  // Loaded when it is needed: few programs ask for configurations.
  const { configFromJson } = await import('../../modelconfig/json/config-json.js');
  return { config: configFromJson(Buffer.from(response.body).toString('utf8')) };
}

function loadBody(parameters: RpcRequest<'RepositoryModelLoad'>['parameters']): object {
  if (parameters.size === 0) return {};
  return {
    parameters: objectOf(parameters, ({ string_param, bytes_param }) =>
      bytes_param === undefined ? string_param : base64(bytes_param),
    ),
  };
}

function tracePath(model: string): string {
  return model === '' ? '/v2/trace/setting' : modelPath(model, undefined, 'trace/setting');
}

/** Settings are read by GET and changed by POST. */
function settingsRequest<V>(
  path: string,
  settings: ReadonlyMap<string, V>,
  value: (setting: V, name: string) => unknown,
): ManagementRequest {
  return settings.size === 0 ? get(path) : post(path, objectOf(settings, value));
}

/** The trace level is a list, the other settings have one value; null clears a setting. */
function traceSettingJson({ value }: TraceSettingRequestValue, name: string): unknown {
  if (value.length === 0) return null;
  return name === 'trace_level' || value.length > 1 ? value : value[0];
}

function readTraceSetting(setting: JsonValue): TraceSettingResponseValue {
  return { value: setting.isArray ? setting.asArray().map((element) => element.asString()) : [setting.asString()] };
}

function logSettingJson({ bool_param, uint32_param, string_param }: LogSettingsRequestValue): unknown {
  return bool_param ?? uint32_param ?? string_param;
}

function readLogSetting(value: JsonValue): LogSettingsResponseValue {
  const setting = create(LogSettingsResponseValue);
  if (value.kind === JsonKind.STRING) setting.string_param = value.asString();
  else if (value.isBool) setting.bool_param = value.asBool();
  else setting.uint32_param = value.asDouble();
  return setting;
}

function regionsOf<F extends FieldTable>(
  schema: MessageSchema<F>,
  regions: JsonValue,
): Map<string, MessageOf<MessageSchema<F>>> {
  return new Map(
    regions.asArray().map((region) => [region.member('name')?.asString() ?? '', readMessage(schema, region)]),
  );
}

function mapOf<V>(object: JsonValue, read: (value: JsonValue) => V): Map<string, V> {
  return new Map(object.members().map(([name, value]) => [name.asString(), read(value)]));
}

function objectOf<V>(
  map: ReadonlyMap<string, V>,
  value: (entry: V, name: string) => unknown,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries([...map].map(([name, entry]) => [name, value(entry, name)]));
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
