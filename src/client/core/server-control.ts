import { create } from '../../protocol/proto/schema.js';
import { LogSettingsRequestValue, type TraceSettingRequestValue } from '../../protocol/proto/service/service.js';
import type { CallOptions } from '../api/client.js';
import type {
  CudaSharedMemoryRegion,
  LogSettings,
  ServerControl,
  SystemSharedMemoryRegion,
  TraceSettings,
} from '../api/control.js';
import { requireUint64 } from './check-call.js';
import type { RpcName, RpcRequest, RpcResponse } from './transport.js';

/** One management call of a client. */
type Call = <N extends RpcName>(
  rpc: N,
  request: RpcRequest<N>,
  options: CallOptions | undefined,
) => Promise<RpcResponse<N>>;

/** Settings and shared memory over either protocol. */
export class RpcControl implements ServerControl {
  readonly #call: Call;

  constructor(call: Call) {
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
    const changes = new Map(Object.entries(settings).map(([name, value]) => [name, traceSetting(value)]));
    const response = await this.#call('TraceSetting', { settings: changes, model_name: model }, options);
    return Object.fromEntries(
      [...response.settings].map(([name, { value }]) => [name, name === 'trace_level' ? value : (value[0] ?? '')]),
    );
  }

  logSettings(options?: CallOptions): Promise<LogSettings> {
    return this.updateLogSettings({}, options);
  }

  async updateLogSettings(settings: LogSettings, options?: CallOptions): Promise<LogSettings> {
    const changes = new Map(Object.entries(settings).map(([name, value]) => [name, logSetting(value)]));
    const response = await this.#call('LogSettings', { settings: changes }, options);
    return Object.fromEntries(
      [...response.settings].map(([name, { bool_param, uint32_param, string_param }]) => [
        name,
        bool_param ?? uint32_param ?? string_param ?? '',
      ]),
    );
  }

  async systemSharedMemory(name = '', options?: CallOptions): Promise<readonly SystemSharedMemoryRegion[]> {
    const { regions } = await this.#call('SystemSharedMemoryStatus', { name }, options);
    return [...regions.values()].map(({ byte_size, ...region }) => ({ ...region, byteSize: byte_size }));
  }

  async registerSystemSharedMemory(region: SystemSharedMemoryRegion, options?: CallOptions): Promise<void> {
    const { name, key, offset = 0, byteSize } = region;
    const request = {
      name,
      key,
      offset: requireUint64(offset, 'offset'),
      byte_size: requireUint64(byteSize, 'byteSize'),
    };
    await this.#call('SystemSharedMemoryRegister', request, options);
  }

  async unregisterSystemSharedMemory(name = '', options?: CallOptions): Promise<void> {
    await this.#call('SystemSharedMemoryUnregister', { name }, options);
  }

  async cudaSharedMemory(name = '', options?: CallOptions): Promise<readonly CudaSharedMemoryRegion[]> {
    const { regions } = await this.#call('CudaSharedMemoryStatus', { name }, options);
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
    const { name, deviceId, byteSize, rawHandle } = region;
    const request = {
      name,
      raw_handle: rawHandle,
      device_id: requireUint64(deviceId, 'deviceId'),
      byte_size: requireUint64(byteSize, 'byteSize'),
    };
    await this.#call('CudaSharedMemoryRegister', request, options);
  }

  async unregisterCudaSharedMemory(name = '', options?: CallOptions): Promise<void> {
    await this.#call('CudaSharedMemoryUnregister', { name }, options);
  }
}

/** The values of a setting; none clears it. */
function traceSetting(value: string | readonly string[] | null): TraceSettingRequestValue {
  if (value === null) return { value: [] };
  return { value: typeof value === 'string' ? [value] : [...value] };
}

function logSetting(value: string | boolean | number): LogSettingsRequestValue {
  const setting = create(LogSettingsRequestValue);
  if (typeof value === 'boolean') setting.bool_param = value;
  else if (typeof value === 'number') setting.uint32_param = value;
  else setting.string_param = value;
  return setting;
}
