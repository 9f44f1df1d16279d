/**
 * The table of gRPC endpoints: name of the method, category of restriction, handler. A new one takes its messages in
 * protocol/proto/service/, a handler in handlers/, and a line here.
 */
import { HEALTH_CHECK_PATH, SERVICE_PATH } from '../../protocol/proto/service/service.js';
import type { GrpcMethod } from '../../transport/grpc/grpc-api.js';
import type { ServerContext } from '../context/server-context.js';
import { modelConfig } from './handlers/config.js';
import { healthCheck, modelReady, serverLive, serverReady } from './handlers/health.js';
import { modelInfer } from './handlers/infer.js';
import { modelStreamInfer } from './handlers/infer-stream.js';
import { logSettings } from './handlers/logging.js';
import { modelMetadata, serverMetadata } from './handlers/metadata.js';
import { REFLECTION_PATHS, serverReflection } from './handlers/reflection.js';
import { repositoryIndex, repositoryModelLoad, repositoryModelUnload } from './handlers/repository.js';
import {
  cudaSharedMemoryRegister,
  cudaSharedMemoryStatus,
  cudaSharedMemoryUnregister,
  systemSharedMemoryRegister,
  systemSharedMemoryStatus,
  systemSharedMemoryUnregister,
} from './handlers/shared-memory.js';
import { modelStatistics } from './handlers/statistics.js';
import { traceSetting } from './handlers/trace.js';
import { withResponseDelay } from './infer/test-delays.js';
import { type GrpcEndpoint, restricted } from './route/endpoint.js';

const ENDPOINTS: readonly GrpcEndpoint[] = [
  { method: 'ServerLive', category: 'health', handler: serverLive },
  { method: 'ServerReady', category: 'health', handler: serverReady },
  { method: 'ModelReady', category: 'health', handler: modelReady },
  { method: HEALTH_CHECK_PATH, category: 'health', handler: healthCheck },
  { method: 'ServerMetadata', category: 'metadata', handler: serverMetadata },
  { method: 'ModelMetadata', category: 'metadata', handler: modelMetadata },
  { method: 'ModelInfer', category: 'inference', handler: modelInfer },
  { method: 'ModelStreamInfer', category: 'inference', handler: modelStreamInfer },
  { method: 'ModelConfig', category: 'model-config', handler: modelConfig },
  { method: 'ModelStatistics', category: 'statistics', handler: modelStatistics },
  { method: 'RepositoryIndex', category: 'model-repository', handler: repositoryIndex },
  { method: 'RepositoryModelLoad', category: 'model-repository', handler: repositoryModelLoad },
  { method: 'RepositoryModelUnload', category: 'model-repository', handler: repositoryModelUnload },
  { method: 'SystemSharedMemoryStatus', category: 'shared-memory', handler: systemSharedMemoryStatus },
  { method: 'SystemSharedMemoryRegister', category: 'shared-memory', handler: systemSharedMemoryRegister },
  { method: 'SystemSharedMemoryUnregister', category: 'shared-memory', handler: systemSharedMemoryUnregister },
  { method: 'CudaSharedMemoryStatus', category: 'shared-memory', handler: cudaSharedMemoryStatus },
  { method: 'CudaSharedMemoryRegister', category: 'shared-memory', handler: cudaSharedMemoryRegister },
  { method: 'CudaSharedMemoryUnregister', category: 'shared-memory', handler: cudaSharedMemoryUnregister },
  { method: 'TraceSetting', category: 'trace', handler: traceSetting },
  { method: 'LogSettings', category: 'logging', handler: logSettings },
];

/** Served only where the option `--grpc-reflection` is set: tools list and call the methods with their help. */
const REFLECTION: readonly GrpcEndpoint[] = REFLECTION_PATHS.map((method) => ({
  method,
  category: 'metadata',
  handler: serverReflection,
}));

/** Every method of a server by its full path, restrictions applied, and what a stop has to do about their streams. */
export interface GrpcMethods {
  readonly byPath: ReadonlyMap<string, GrpcMethod>;
  /** Streams take no more requests, and end when nothing of theirs is in flight. */
  shutdown(): void;
}

/** Makes the methods of one server. */
export function grpcMethods(context: ServerContext): GrpcMethods {
  const { restrictions, reflection } = context.options.grpc;
  const stops: (() => void)[] = [];
  const byPath = new Map<string, GrpcMethod>();
  for (const { method, category, handler } of reflection ? [...ENDPOINTS, ...REFLECTION] : ENDPOINTS) {
    const path = method.startsWith('/') ? method : SERVICE_PATH + method;
    const made = handler(context, (stop) => stops.push(stop));
    const whole = category === 'inference' ? made : withResponseDelay(made);
    byPath.set(path, restricted(whole, category, restrictions));
  }
  return {
    byPath,
    shutdown() {
      for (const stop of stops) stop();
    },
  };
}
