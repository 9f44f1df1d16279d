import { toBinary } from '../../../protocol/proto/codec.js';
import {
  CudaSharedMemoryRegisterRequest,
  CudaSharedMemoryStatusRequest,
  CudaSharedMemoryStatusResponse,
  CudaSharedMemoryUnregisterRequest,
  SystemSharedMemoryRegisterRequest,
  SystemSharedMemoryStatusRequest,
  SystemSharedMemoryStatusResponse,
  SystemSharedMemoryUnregisterRequest,
} from '../../../protocol/proto/service.js';
import type { GrpcMethod } from '../../../transport/grpc/grpc-api.js';
import type { ServerContext } from '../../context/server-context.js';
import { encodedMethod } from '../message/respond.js';

/** What register and unregister answer: messages without fields. */
const EMPTY = new Uint8Array(0);

/** The six shared memory methods by name (spec: wire protocol, section 9). */
export function sharedMemoryMethods({ sharedMemory }: ServerContext): Readonly<Record<string, GrpcMethod>> {
  return {
    SystemSharedMemoryStatus: encodedMethod(SystemSharedMemoryStatusRequest, ({ name }) => {
      const regions = sharedMemory
        .status('system', name)
        .map(({ name, key, offset, byteSize }) => [name, { name, key, offset, byte_size: byteSize }] as const);
      return toBinary(SystemSharedMemoryStatusResponse, { regions: new Map(regions) });
    }),
    SystemSharedMemoryRegister: encodedMethod(SystemSharedMemoryRegisterRequest, (request) => {
      sharedMemory.checkAllowed();
      const { name, key, offset, byte_size: byteSize } = request;
      sharedMemory.register({ name, key, offset, byteSize });
      return EMPTY;
    }),
    SystemSharedMemoryUnregister: encodedMethod(SystemSharedMemoryUnregisterRequest, ({ name }) => {
      sharedMemory.checkAllowed();
      sharedMemory.unregister('system', name);
      return EMPTY;
    }),
    CudaSharedMemoryStatus: encodedMethod(CudaSharedMemoryStatusRequest, ({ name }) => {
      sharedMemory.status('cuda', name);
      return toBinary(CudaSharedMemoryStatusResponse, { regions: new Map() });
    }),
    CudaSharedMemoryRegister: encodedMethod(CudaSharedMemoryRegisterRequest, ({ name }) => {
      sharedMemory.checkAllowed();
      return sharedMemory.registerCuda(name);
    }),
    CudaSharedMemoryUnregister: encodedMethod(CudaSharedMemoryUnregisterRequest, ({ name }) => {
      sharedMemory.checkAllowed();
      sharedMemory.unregister('cuda', name);
      return EMPTY;
    }),
  };
}
