/** Messages of system and CUDA shared memory. Names, numbers and types are those of grpc_service.proto (package `inference`). */
import { type MessageOf, mapOfSub, message, scalar } from '../schema.js';

export const SystemSharedMemoryStatusRequest = message('inference.SystemSharedMemoryStatusRequest', {
  name: scalar(1, 'string'),
});
export type SystemSharedMemoryStatusRequest = MessageOf<typeof SystemSharedMemoryStatusRequest>;

export const SystemSharedMemoryStatusResponse = message('inference.SystemSharedMemoryStatusResponse', {
  regions: mapOfSub(1, 'string', () => SystemRegionStatus),
});
export type SystemSharedMemoryStatusResponse = MessageOf<typeof SystemSharedMemoryStatusResponse>;

export const SystemRegionStatus = message('inference.SystemSharedMemoryStatusResponse.RegionStatus', {
  name: scalar(1, 'string'),
  key: scalar(2, 'string'),
  offset: scalar(3, 'uint64'),
  byte_size: scalar(4, 'uint64'),
});
export type SystemRegionStatus = MessageOf<typeof SystemRegionStatus>;

export const SystemSharedMemoryRegisterRequest = message('inference.SystemSharedMemoryRegisterRequest', {
  name: scalar(1, 'string'),
  key: scalar(2, 'string'),
  offset: scalar(3, 'uint64'),
  byte_size: scalar(4, 'uint64'),
});
export type SystemSharedMemoryRegisterRequest = MessageOf<typeof SystemSharedMemoryRegisterRequest>;

export const SystemSharedMemoryRegisterResponse = message('inference.SystemSharedMemoryRegisterResponse', {});
export type SystemSharedMemoryRegisterResponse = MessageOf<typeof SystemSharedMemoryRegisterResponse>;

export const SystemSharedMemoryUnregisterRequest = message('inference.SystemSharedMemoryUnregisterRequest', {
  name: scalar(1, 'string'),
});
export type SystemSharedMemoryUnregisterRequest = MessageOf<typeof SystemSharedMemoryUnregisterRequest>;

export const SystemSharedMemoryUnregisterResponse = message('inference.SystemSharedMemoryUnregisterResponse', {});
export type SystemSharedMemoryUnregisterResponse = MessageOf<typeof SystemSharedMemoryUnregisterResponse>;

export const CudaSharedMemoryStatusRequest = message('inference.CudaSharedMemoryStatusRequest', {
  name: scalar(1, 'string'),
});
export type CudaSharedMemoryStatusRequest = MessageOf<typeof CudaSharedMemoryStatusRequest>;

export const CudaSharedMemoryStatusResponse = message('inference.CudaSharedMemoryStatusResponse', {
  regions: mapOfSub(1, 'string', () => CudaRegionStatus),
});
export type CudaSharedMemoryStatusResponse = MessageOf<typeof CudaSharedMemoryStatusResponse>;

export const CudaRegionStatus = message('inference.CudaSharedMemoryStatusResponse.RegionStatus', {
  name: scalar(1, 'string'),
  device_id: scalar(2, 'uint64'),
  byte_size: scalar(3, 'uint64'),
});
export type CudaRegionStatus = MessageOf<typeof CudaRegionStatus>;

export const CudaSharedMemoryRegisterRequest = message('inference.CudaSharedMemoryRegisterRequest', {
  name: scalar(1, 'string'),
  raw_handle: scalar(2, 'bytes'),
  device_id: scalar(3, 'int64'),
  byte_size: scalar(4, 'uint64'),
});
export type CudaSharedMemoryRegisterRequest = MessageOf<typeof CudaSharedMemoryRegisterRequest>;

export const CudaSharedMemoryRegisterResponse = message('inference.CudaSharedMemoryRegisterResponse', {});
export type CudaSharedMemoryRegisterResponse = MessageOf<typeof CudaSharedMemoryRegisterResponse>;

export const CudaSharedMemoryUnregisterRequest = message('inference.CudaSharedMemoryUnregisterRequest', {
  name: scalar(1, 'string'),
});
export type CudaSharedMemoryUnregisterRequest = MessageOf<typeof CudaSharedMemoryUnregisterRequest>;

export const CudaSharedMemoryUnregisterResponse = message('inference.CudaSharedMemoryUnregisterResponse', {});
export type CudaSharedMemoryUnregisterResponse = MessageOf<typeof CudaSharedMemoryUnregisterResponse>;
