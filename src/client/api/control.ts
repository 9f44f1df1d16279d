/** Settings of the server and registered shared memory: the calls beside inference and models. */
import type { CallOptions } from './client.js';

/** Trace settings by name; a list where there are several values (`trace_level`). */
export type TraceSettings = Readonly<Record<string, string | readonly string[]>>;

/** Log settings by name. */
export type LogSettings = Readonly<Record<string, string | boolean | number>>;

/** A registered region of system shared memory. Sizes in bytes. */
export interface SystemSharedMemoryRegion {
  readonly name: string;
  /** Name of the shared memory object. */
  readonly key: string;
  /** Where the region begins in the object; default 0. */
  readonly offset?: bigint | number;
  readonly byteSize: bigint | number;
}

/** A registered region of memory of a CUDA device. */
export interface CudaSharedMemoryRegion {
  readonly name: string;
  readonly deviceId: bigint | number;
  readonly byteSize: bigint | number;
}

/** Reads and changes settings of a server. Every call rejects with a TritonError. */
export interface ServerControl {
  /** Settings of a model, or the global ones. */
  traceSettings(model?: string, options?: CallOptions): Promise<TraceSettings>;
  /** Changes settings and resolves with all of them; null clears one, so that the value above it counts again. */
  updateTraceSettings(
    settings: Readonly<Record<string, string | readonly string[] | null>>,
    model?: string,
    options?: CallOptions,
  ): Promise<TraceSettings>;
  logSettings(options?: CallOptions): Promise<LogSettings>;
  /** Changes settings and resolves with all of them. */
  updateLogSettings(settings: LogSettings, options?: CallOptions): Promise<LogSettings>;
  /** One region, or all of them; sizes are bigint. */
  systemSharedMemory(name?: string, options?: CallOptions): Promise<readonly SystemSharedMemoryRegion[]>;
  registerSystemSharedMemory(region: SystemSharedMemoryRegion, options?: CallOptions): Promise<void>;
  /** Without a name: all regions of this kind. */
  unregisterSystemSharedMemory(name?: string, options?: CallOptions): Promise<void>;
  cudaSharedMemory(name?: string, options?: CallOptions): Promise<readonly CudaSharedMemoryRegion[]>;
  /** `rawHandle`: the 64 bytes of a cudaIpcMemHandle_t. */
  registerCudaSharedMemory(
    region: CudaSharedMemoryRegion & { readonly rawHandle: Uint8Array },
    options?: CallOptions,
  ): Promise<void>;
  unregisterCudaSharedMemory(name?: string, options?: CallOptions): Promise<void>;
}
