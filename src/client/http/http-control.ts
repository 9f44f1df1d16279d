import type { JsonValue } from '../../protocol/json/json-value.js';
import { JsonKind } from '../../protocol/json/json-value.js';
import type { CallOptions } from '../api/client.js';
import type {
  CudaSharedMemoryRegion,
  LogSettings,
  ServerControl,
  SystemSharedMemoryRegion,
  TraceSettings,
} from '../api/control.js';
import type { HttpResponse } from './exchange.js';
import { modelPath, sharedMemoryPath } from './paths.js';
import { integer, readJsonAnswer, text } from './read-answers.js';

/** One request that must be answered with 200. */
export type HttpCall = (
  method: 'GET' | 'POST',
  path: string,
  body: Uint8Array | undefined,
  options: CallOptions | undefined,
) => Promise<HttpResponse>;

/** Settings and shared memory over HTTP. */
export class HttpControl implements ServerControl {
  readonly #call: HttpCall;

  constructor(call: HttpCall) {
    this.#call = call;
  }

  async traceSettings(model = '', options?: CallOptions): Promise<TraceSettings> {
    const { body } = await this.#call('GET', tracePath(model), undefined, options);
    return readJsonAnswer(body, 'trace settings', readTraceSettings);
  }

  async updateTraceSettings(
    settings: Readonly<Record<string, string | readonly string[] | null>>,
    model = '',
    options?: CallOptions,
  ): Promise<TraceSettings> {
    const { body } = await this.#call('POST', tracePath(model), json(settings), options);
    return readJsonAnswer(body, 'trace settings', readTraceSettings);
  }

  async logSettings(options?: CallOptions): Promise<LogSettings> {
    const { body } = await this.#call('GET', '/v2/logging', undefined, options);
    return readJsonAnswer(body, 'log settings', readLogSettings);
  }

  async updateLogSettings(settings: LogSettings, options?: CallOptions): Promise<LogSettings> {
    const { body } = await this.#call('POST', '/v2/logging', json(settings), options);
    return readJsonAnswer(body, 'log settings', readLogSettings);
  }

  async systemSharedMemory(name = '', options?: CallOptions): Promise<readonly SystemSharedMemoryRegion[]> {
    const { body } = await this.#call('GET', sharedMemoryPath('system', name, 'status'), undefined, options);
    return readJsonAnswer(body, 'shared memory status', (regions) => regions.asArray().map(readSystemRegion));
  }

  async registerSystemSharedMemory(region: SystemSharedMemoryRegion, options?: CallOptions): Promise<void> {
    const { name, key, offset = 0, byteSize } = region;
    const body = Buffer.from(`{"key":${JSON.stringify(key)},"offset":${offset},"byte_size":${byteSize}}`);
    await this.#call('POST', sharedMemoryPath('system', name, 'register'), body, options);
  }

  async unregisterSystemSharedMemory(name = '', options?: CallOptions): Promise<void> {
    await this.#call('POST', sharedMemoryPath('system', name, 'unregister'), undefined, options);
  }

  async cudaSharedMemory(name = '', options?: CallOptions): Promise<readonly CudaSharedMemoryRegion[]> {
    const { body } = await this.#call('GET', sharedMemoryPath('cuda', name, 'status'), undefined, options);
    return readJsonAnswer(body, 'shared memory status', (regions) => regions.asArray().map(readCudaRegion));
  }

  async registerCudaSharedMemory(
    region: CudaSharedMemoryRegion & { readonly rawHandle: Uint8Array },
    options?: CallOptions,
  ): Promise<void> {
    const { name, deviceId, byteSize, rawHandle } = region;
    const handle = Buffer.from(rawHandle).toString('base64');
    const body = Buffer.from(`{"raw_handle":{"b64":"${handle}"},"device_id":${deviceId},"byte_size":${byteSize}}`);
    await this.#call('POST', sharedMemoryPath('cuda', name, 'register'), body, options);
  }

  async unregisterCudaSharedMemory(name = '', options?: CallOptions): Promise<void> {
    await this.#call('POST', sharedMemoryPath('cuda', name, 'unregister'), undefined, options);
  }
}

function json(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

function tracePath(model: string): string {
  return model === '' ? '/v2/trace/setting' : modelPath(model, undefined, 'trace/setting');
}

function readTraceSettings(settings: JsonValue): TraceSettings {
  return Object.fromEntries(
    settings
      .members()
      .map(([name, value]) => [
        name.asString(),
        value.kind === JsonKind.ARRAY ? value.asArray().map((element) => element.asString()) : value.asString(),
      ]),
  );
}

function readLogSettings(settings: JsonValue): LogSettings {
  return Object.fromEntries(settings.members().map(([name, value]) => [name.asString(), readLogSetting(value)]));
}

function readLogSetting(value: JsonValue): string | boolean | number {
  if (value.kind === JsonKind.STRING) return value.asString();
  return value.kind === JsonKind.TRUE || value.kind === JsonKind.FALSE ? value.asBool() : value.asDouble();
}

function readSystemRegion(region: JsonValue): SystemSharedMemoryRegion {
  return {
    name: text(region, 'name'),
    key: text(region, 'key'),
    offset: integer(region, 'offset'),
    byteSize: integer(region, 'byte_size'),
  };
}

function readCudaRegion(region: JsonValue): CudaSharedMemoryRegion {
  return {
    name: text(region, 'name'),
    deviceId: integer(region, 'device_id'),
    byteSize: integer(region, 'byte_size'),
  };
}
