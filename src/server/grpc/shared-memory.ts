import { toBinary } from '../../protocol/proto/codec.js';
import {
  CudaSharedMemoryRegisterRequest,
  CudaSharedMemoryStatusRequest,
  CudaSharedMemoryStatusResponse,
  CudaSharedMemoryUnregisterRequest,
  SystemSharedMemoryRegisterRequest,
  SystemSharedMemoryStatusRequest,
  SystemSharedMemoryStatusResponse,
  SystemSharedMemoryUnregisterRequest,
} from '../../protocol/proto/service.js';
import type { GrpcMethod } from '../../transport/grpc/grpc-api.js';
import type { ServerContext } from '../server-context.js';
import { sharedMemoryRefusal, unknownRegion } from '../shared-memory.js';
import { encodedMethod } from './respond.js';

/** The six shared memory methods by name: no region can be registered, so the status is always empty. */
export function sharedMemoryMethods({ options }: ServerContext): Readonly<Record<string, GrpcMethod>> {
  const refuse = (): never => {
    throw sharedMemoryRefusal(options.allowClientSharedMemory);
  };
  return {
    SystemSharedMemoryStatus: encodedMethod(SystemSharedMemoryStatusRequest, ({ name }) => {
      if (name !== '') throw unknownRegion('system', name);
      return toBinary(SystemSharedMemoryStatusResponse, { regions: new Map() });
    }),
    SystemSharedMemoryRegister: encodedMethod(SystemSharedMemoryRegisterRequest, refuse),
    SystemSharedMemoryUnregister: encodedMethod(SystemSharedMemoryUnregisterRequest, refuse),
    CudaSharedMemoryStatus: encodedMethod(CudaSharedMemoryStatusRequest, ({ name }) => {
      if (name !== '') throw unknownRegion('cuda', name);
      return toBinary(CudaSharedMemoryStatusResponse, { regions: new Map() });
    }),
    CudaSharedMemoryRegister: encodedMethod(CudaSharedMemoryRegisterRequest, refuse),
    CudaSharedMemoryUnregister: encodedMethod(CudaSharedMemoryUnregisterRequest, refuse),
  };
}
