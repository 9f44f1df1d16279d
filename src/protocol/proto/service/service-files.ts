/** The services with their calls, as the files that describe them: grpc_service.proto, model_config.proto, health.proto. */
import { describeFile, type FileContents, type FileDescriptor, type RpcSchema, reachableTypes } from '../descriptor.js';
import { ModelConfig } from '../model-config.js';
import type { FieldTable, MessageSchema } from '../schema.js';
import * as messages from './service.js';

function unary(request: MessageSchema<FieldTable>, response: MessageSchema<FieldTable>): RpcSchema {
  return { request, response, streams: false };
}

/** Calls of `inference.GRPCInferenceService` (grpc_service.proto). */
const INFERENCE_CALLS: Readonly<Record<string, RpcSchema>> = {
  ServerLive: unary(messages.ServerLiveRequest, messages.ServerLiveResponse),
  ServerReady: unary(messages.ServerReadyRequest, messages.ServerReadyResponse),
  ModelReady: unary(messages.ModelReadyRequest, messages.ModelReadyResponse),
  ServerMetadata: unary(messages.ServerMetadataRequest, messages.ServerMetadataResponse),
  ModelMetadata: unary(messages.ModelMetadataRequest, messages.ModelMetadataResponse),
  ModelInfer: unary(messages.ModelInferRequest, messages.ModelInferResponse),
  ModelStreamInfer: { request: messages.ModelInferRequest, response: messages.ModelStreamInferResponse, streams: true },
  ModelConfig: unary(messages.ModelConfigRequest, messages.ModelConfigResponse),
  ModelStatistics: unary(messages.ModelStatisticsRequest, messages.ModelStatisticsResponse),
  RepositoryIndex: unary(messages.RepositoryIndexRequest, messages.RepositoryIndexResponse),
  RepositoryModelLoad: unary(messages.RepositoryModelLoadRequest, messages.RepositoryModelLoadResponse),
  RepositoryModelUnload: unary(messages.RepositoryModelUnloadRequest, messages.RepositoryModelUnloadResponse),
  SystemSharedMemoryStatus: unary(messages.SystemSharedMemoryStatusRequest, messages.SystemSharedMemoryStatusResponse),
  SystemSharedMemoryRegister: unary(
    messages.SystemSharedMemoryRegisterRequest,
    messages.SystemSharedMemoryRegisterResponse,
  ),
  SystemSharedMemoryUnregister: unary(
    messages.SystemSharedMemoryUnregisterRequest,
    messages.SystemSharedMemoryUnregisterResponse,
  ),
  CudaSharedMemoryStatus: unary(messages.CudaSharedMemoryStatusRequest, messages.CudaSharedMemoryStatusResponse),
  CudaSharedMemoryRegister: unary(messages.CudaSharedMemoryRegisterRequest, messages.CudaSharedMemoryRegisterResponse),
  CudaSharedMemoryUnregister: unary(
    messages.CudaSharedMemoryUnregisterRequest,
    messages.CudaSharedMemoryUnregisterResponse,
  ),
  TraceSetting: unary(messages.TraceSettingRequest, messages.TraceSettingResponse),
  LogSettings: unary(messages.LogSettingsRequest, messages.LogSettingsResponse),
};

/** Calls of `grpc.health.v1.Health` that are served. */
const HEALTH_CALLS: Readonly<Record<string, RpcSchema>> = {
  Check: unary(messages.HealthCheckRequest, messages.HealthCheckResponse),
};

/** Every file, each behind those it depends on. */
export function serviceFiles(): FileDescriptor[] {
  const configTypes = reachableTypes([ModelConfig]);
  const calls = Object.values(INFERENCE_CALLS).flatMap(({ request, response }) => [request, response]);
  const serviceTypes = [...reachableTypes(calls).values()].filter(({ name }) => !configTypes.has(name));
  const health = Object.values(HEALTH_CALLS).flatMap(({ request, response }) => [request, response]);
  const files: FileContents[] = [
    {
      name: 'model_config.proto',
      package: 'inference',
      dependencies: [],
      types: [...configTypes.values()],
      services: {},
    },
    {
      name: 'grpc_service.proto',
      package: 'inference',
      dependencies: ['model_config.proto'],
      types: serviceTypes,
      services: { GRPCInferenceService: INFERENCE_CALLS },
    },
    {
      name: 'grpc/health/v1/health.proto',
      package: 'grpc.health.v1',
      dependencies: [],
      types: [...reachableTypes(health).values()],
      services: { Health: HEALTH_CALLS },
    },
  ];
  return files.map(describeFile);
}
