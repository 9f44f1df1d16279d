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
} from '../../../protocol/proto/service/service.js';
import type { GrpcMethod } from '../../../transport/grpc/grpc-api.js';
import type { ServerContext } from '../../context/server-context.js';
import { encodedMethod } from '../message/respond.js';

/** The responses of register and unregister: messages without fields. */
const EMPTY = new Uint8Array(0);

/** SystemSharedMemoryStatus: registered regions, or the one that is named. */
export function systemSharedMemoryStatus({ sharedMemory }: ServerContext): GrpcMethod {
  return encodedMethod(SystemSharedMemoryStatusRequest, ({ name }) => {
    const regions = sharedMemory
      .status('system', name)
      .map(({ name, key, offset, byteSize }) => [name, { name, key, offset, byte_size: byteSize }] as const);
    return toBinary(SystemSharedMemoryStatusResponse, { regions: new Map(regions) });
  });
}

/** SystemSharedMemoryRegister. */
export function systemSharedMemoryRegister({ sharedMemory }: ServerContext): GrpcMethod {
  return encodedMethod(SystemSharedMemoryRegisterRequest, (request) => {
    sharedMemory.checkAllowed();
    const { name, key, offset, byte_size: byteSize } = request;
    sharedMemory.register({ name, key, offset, byteSize });
    return EMPTY;
  });
}

/** SystemSharedMemoryUnregister: forgets the region that is named, or all. */
export function systemSharedMemoryUnregister({ sharedMemory }: ServerContext): GrpcMethod {
  return encodedMethod(SystemSharedMemoryUnregisterRequest, ({ name }) => {
    sharedMemory.checkAllowed();
    sharedMemory.unregister('system', name);
    return EMPTY;
  });
}

/** CudaSharedMemoryStatus: there are never any regions. */
export function cudaSharedMemoryStatus({ sharedMemory }: ServerContext): GrpcMethod {
  return encodedMethod(CudaSharedMemoryStatusRequest, ({ name }) => {
    sharedMemory.status('cuda', name);
    return toBinary(CudaSharedMemoryStatusResponse, { regions: new Map() });
  });
}

/** CudaSharedMemoryRegister: always refused. */
export function cudaSharedMemoryRegister({ sharedMemory }: ServerContext): GrpcMethod {
  return encodedMethod(CudaSharedMemoryRegisterRequest, ({ name }) => {
    sharedMemory.checkAllowed();
    return sharedMemory.registerCuda(name);
  });
}

/** CudaSharedMemoryUnregister: there is nothing to forget. */
export function cudaSharedMemoryUnregister({ sharedMemory }: ServerContext): GrpcMethod {
  return encodedMethod(CudaSharedMemoryUnregisterRequest, ({ name }) => {
    sharedMemory.checkAllowed();
    sharedMemory.unregister('cuda', name);
    return EMPTY;
  });
}
