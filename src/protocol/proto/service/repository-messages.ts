/** Messages of the model repository: index, load, unload. Names, numbers and types are those of grpc_service.proto (package `inference`). */
import { type MessageOf, mapOfSub, message, oneof, repeatedSub, scalar } from '../schema.js';

export const ModelRepositoryParameter = message('inference.ModelRepositoryParameter', {
  bool_param: oneof('parameter_choice', scalar(1, 'bool')),
  int64_param: oneof('parameter_choice', scalar(2, 'int64')),
  string_param: oneof('parameter_choice', scalar(3, 'string')),
  bytes_param: oneof('parameter_choice', scalar(4, 'bytes')),
});
export type ModelRepositoryParameter = MessageOf<typeof ModelRepositoryParameter>;

export const RepositoryIndexRequest = message('inference.RepositoryIndexRequest', {
  repository_name: scalar(1, 'string'),
  ready: scalar(2, 'bool'),
});
export type RepositoryIndexRequest = MessageOf<typeof RepositoryIndexRequest>;

export const ModelIndex = message('inference.RepositoryIndexResponse.ModelIndex', {
  name: scalar(1, 'string'),
  version: scalar(2, 'string'),
  state: scalar(3, 'string'),
  reason: scalar(4, 'string'),
});
export type ModelIndex = MessageOf<typeof ModelIndex>;

export const RepositoryIndexResponse = message('inference.RepositoryIndexResponse', {
  models: repeatedSub(1, () => ModelIndex),
});
export type RepositoryIndexResponse = MessageOf<typeof RepositoryIndexResponse>;

export const RepositoryModelLoadRequest = message('inference.RepositoryModelLoadRequest', {
  repository_name: scalar(1, 'string'),
  model_name: scalar(2, 'string'),
  parameters: mapOfSub(3, 'string', () => ModelRepositoryParameter),
});
export type RepositoryModelLoadRequest = MessageOf<typeof RepositoryModelLoadRequest>;

export const RepositoryModelLoadResponse = message('inference.RepositoryModelLoadResponse', {});
export type RepositoryModelLoadResponse = MessageOf<typeof RepositoryModelLoadResponse>;

export const RepositoryModelUnloadRequest = message('inference.RepositoryModelUnloadRequest', {
  repository_name: scalar(1, 'string'),
  model_name: scalar(2, 'string'),
  parameters: mapOfSub(3, 'string', () => ModelRepositoryParameter),
});
export type RepositoryModelUnloadRequest = MessageOf<typeof RepositoryModelUnloadRequest>;

export const RepositoryModelUnloadResponse = message('inference.RepositoryModelUnloadResponse', {});
export type RepositoryModelUnloadResponse = MessageOf<typeof RepositoryModelUnloadResponse>;
