/** Messages about the server and its models: health, metadata, configuration. Names, numbers and types are those of grpc_service.proto (package `inference`). */
import { ModelConfig } from '../model-config.js';
import {
  enumeration,
  enumField,
  type MessageOf,
  message,
  repeatedScalar,
  repeatedSub,
  scalar,
  sub,
} from '../schema.js';

export const ServerLiveRequest = message('inference.ServerLiveRequest', {});
export type ServerLiveRequest = MessageOf<typeof ServerLiveRequest>;

export const ServerLiveResponse = message('inference.ServerLiveResponse', {
  live: scalar(1, 'bool'),
});
export type ServerLiveResponse = MessageOf<typeof ServerLiveResponse>;

export const ServerReadyRequest = message('inference.ServerReadyRequest', {});
export type ServerReadyRequest = MessageOf<typeof ServerReadyRequest>;

export const ServerReadyResponse = message('inference.ServerReadyResponse', {
  ready: scalar(1, 'bool'),
});
export type ServerReadyResponse = MessageOf<typeof ServerReadyResponse>;

export const ModelReadyRequest = message('inference.ModelReadyRequest', {
  name: scalar(1, 'string'),
  version: scalar(2, 'string'),
});
export type ModelReadyRequest = MessageOf<typeof ModelReadyRequest>;

export const ModelReadyResponse = message('inference.ModelReadyResponse', {
  ready: scalar(1, 'bool'),
});
export type ModelReadyResponse = MessageOf<typeof ModelReadyResponse>;

export const ServerMetadataRequest = message('inference.ServerMetadataRequest', {});
export type ServerMetadataRequest = MessageOf<typeof ServerMetadataRequest>;

export const ServerMetadataResponse = message('inference.ServerMetadataResponse', {
  name: scalar(1, 'string'),
  version: scalar(2, 'string'),
  extensions: repeatedScalar(3, 'string'),
});
export type ServerMetadataResponse = MessageOf<typeof ServerMetadataResponse>;

export const ModelMetadataRequest = message('inference.ModelMetadataRequest', {
  name: scalar(1, 'string'),
  version: scalar(2, 'string'),
});
export type ModelMetadataRequest = MessageOf<typeof ModelMetadataRequest>;

export const ModelMetadataResponse = message('inference.ModelMetadataResponse', {
  name: scalar(1, 'string'),
  versions: repeatedScalar(2, 'string'),
  platform: scalar(3, 'string'),
  inputs: repeatedSub(4, () => ModelMetadataTensor),
  outputs: repeatedSub(5, () => ModelMetadataTensor),
});
export type ModelMetadataResponse = MessageOf<typeof ModelMetadataResponse>;

export const ModelMetadataTensor = message('inference.ModelMetadataResponse.TensorMetadata', {
  name: scalar(1, 'string'),
  datatype: scalar(2, 'string'),
  shape: repeatedScalar(3, 'int64'),
});
export type ModelMetadataTensor = MessageOf<typeof ModelMetadataTensor>;

export const ModelConfigRequest = message('inference.ModelConfigRequest', {
  name: scalar(1, 'string'),
  version: scalar(2, 'string'),
});
export type ModelConfigRequest = MessageOf<typeof ModelConfigRequest>;

export const ModelConfigResponse = message('inference.ModelConfigResponse', {
  config: sub(1, () => ModelConfig),
});
export type ModelConfigResponse = MessageOf<typeof ModelConfigResponse>;

/** `grpc.health.v1.HealthCheckResponse.ServingStatus`. */
export const ServingStatus = enumeration('grpc.health.v1.HealthCheckResponse.ServingStatus', {
  UNKNOWN: 0,
  SERVING: 1,
  NOT_SERVING: 2,
  SERVICE_UNKNOWN: 3,
});

export const HealthCheckRequest = message('grpc.health.v1.HealthCheckRequest', {
  service: scalar(1, 'string'),
});
export type HealthCheckRequest = MessageOf<typeof HealthCheckRequest>;

export const HealthCheckResponse = message('grpc.health.v1.HealthCheckResponse', {
  status: enumField(1, ServingStatus),
});
export type HealthCheckResponse = MessageOf<typeof HealthCheckResponse>;
