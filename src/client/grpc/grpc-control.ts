import { create, type FieldTable, type MessageOf, type MessageSchema } from '../../protocol/proto/schema.js';
import * as messages from '../../protocol/proto/service.js';
import type { CallOptions } from '../api/client.js';
import type {
  CudaSharedMemoryRegion,
  LogSettings,
  ServerControl,
  SystemSharedMemoryRegion,
  TraceSettings,
} from '../api/control.js';

/** One call of the service: request message out, answer message in. */
export type GrpcCall = <Q extends FieldTable, A extends FieldTable>(
  rpc: string,
  requestSchema: MessageSchema<Q>,
  request: MessageOf<MessageSchema<Q>>,
  answerSchema: MessageSchema<A>,
  options: CallOptions | undefined,
) => Promise<MessageOf<MessageSchema<A>>>;

/** Settings and shared memory over gRPC. */
export class GrpcControl implements ServerControl {
  readonly #call: GrpcCall;

  constructor(call: GrpcCall) {
    this.#call = call;
  }

  traceSettings(model = '', options?: CallOptions): Promise<TraceSettings> {
    return this.updateTraceSettings({}, model, options);
  }

  async updateTraceSettings(
    settings: Readonly<Record<string, string | readonly string[] | null>>,
    model = '',
    options?: CallOptions,
  ): Promise<TraceSettings> {
    const { TraceSettingRequest, TraceSettingResponse } = messages;
    const request = create(TraceSettingRequest);
    request.model_name = model;
    for (const [name, value] of Object.entries(settings)) {
      // An empty list clears the setting.
      request.settings.set(name, { value: value === null ? [] : typeof value === 'string' ? [value] : [...value] });
    }
    const answer = await this.#call('TraceSetting', TraceSettingRequest, request, TraceSettingResponse, options);
    return Object.fromEntries(
      [...answer.settings].map(([name, { value }]) => [name, name === 'trace_level' ? value : (value[0] ?? '')]),
    );
  }

  logSettings(options?: CallOptions): Promise<LogSettings> {
    return this.updateLogSettings({}, options);
  }

  async updateLogSettings(settings: LogSettings, options?: CallOptions): Promise<LogSettings> {
    const { LogSettingsRequest, LogSettingsResponse } = messages;
    const request = create(LogSettingsRequest);
    for (const [name, value] of Object.entries(settings)) request.settings.set(name, logSetting(value));
    const answer = await this.#call('LogSettings', LogSettingsRequest, request, LogSettingsResponse, options);
    return Object.fromEntries(
      [...answer.settings].map(([name, { bool_param, uint32_param, string_param }]) => [
        name,
        bool_param ?? uint32_param ?? string_param ?? '',
      ]),
    );
  }

  async systemSharedMemory(name = '', options?: CallOptions): Promise<readonly SystemSharedMemoryRegion[]> {
    const { SystemSharedMemoryStatusRequest: Request, SystemSharedMemoryStatusResponse: Response } = messages;
    const { regions } = await this.#call('SystemSharedMemoryStatus', Request, { name }, Response, options);
    return [...regions.values()].map(({ name, key, offset, byte_size }) => ({
      name,
      key,
      offset,
      byteSize: byte_size,
    }));
  }

  async registerSystemSharedMemory(region: SystemSharedMemoryRegion, options?: CallOptions): Promise<void> {
    const { SystemSharedMemoryRegisterRequest: Request, SystemSharedMemoryRegisterResponse: Response } = messages;
    const { name, key, offset = 0, byteSize } = region;
    const request = { name, key, offset: BigInt(offset), byte_size: BigInt(byteSize) };
    await this.#call('SystemSharedMemoryRegister', Request, request, Response, options);
  }

  async unregisterSystemSharedMemory(name = '', options?: CallOptions): Promise<void> {
    const { SystemSharedMemoryUnregisterRequest: Request, SystemSharedMemoryUnregisterResponse: Response } = messages;
    await this.#call('SystemSharedMemoryUnregister', Request, { name }, Response, options);
  }

  async cudaSharedMemory(name = '', options?: CallOptions): Promise<readonly CudaSharedMemoryRegion[]> {
    const { CudaSharedMemoryStatusRequest: Request, CudaSharedMemoryStatusResponse: Response } = messages;
    const { regions } = await this.#call('CudaSharedMemoryStatus', Request, { name }, Response, options);
    return [...regions.values()].map(({ name, device_id, byte_size }) => ({
      name,
      deviceId: device_id,
      byteSize: byte_size,
    }));
  }

  async registerCudaSharedMemory(
    region: CudaSharedMemoryRegion & { readonly rawHandle: Uint8Array },
    options?: CallOptions,
  ): Promise<void> {
    const { CudaSharedMemoryRegisterRequest: Request, CudaSharedMemoryRegisterResponse: Response } = messages;
    const { name, deviceId, byteSize, rawHandle } = region;
    const request = { name, raw_handle: rawHandle, device_id: BigInt(deviceId), byte_size: BigInt(byteSize) };
    await this.#call('CudaSharedMemoryRegister', Request, request, Response, options);
  }

  async unregisterCudaSharedMemory(name = '', options?: CallOptions): Promise<void> {
    const { CudaSharedMemoryUnregisterRequest: Request, CudaSharedMemoryUnregisterResponse: Response } = messages;
    await this.#call('CudaSharedMemoryUnregister', Request, { name }, Response, options);
  }
}

function logSetting(value: string | boolean | number): messages.LogSettingsRequestValue {
  const setting = create(messages.LogSettingsRequestValue);
  if (typeof value === 'boolean') setting.bool_param = value;
  else if (typeof value === 'number') setting.uint32_param = value;
  else setting.string_param = value;
  return setting;
}
