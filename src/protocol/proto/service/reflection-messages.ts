/** Messages of `grpc.reflection` (reflection.proto, the same in v1 and v1alpha), without their package. */
import { type MessageOf, message, oneof, repeatedScalar, repeatedSub, scalar, sub } from '../schema.js';

const ExtensionRequest = message('grpc.reflection.ExtensionRequest', {
  containing_type: scalar(1, 'string'),
  extension_number: scalar(2, 'int32'),
});

export const ServerReflectionRequest = message('grpc.reflection.ServerReflectionRequest', {
  host: scalar(1, 'string'),
  file_by_filename: oneof('message_request', scalar(3, 'string')),
  file_containing_symbol: oneof('message_request', scalar(4, 'string')),
  file_containing_extension: oneof(
    'message_request',
    sub(5, () => ExtensionRequest),
  ),
  all_extension_numbers_of_type: oneof('message_request', scalar(6, 'string')),
  list_services: oneof('message_request', scalar(7, 'string')),
});
export type ServerReflectionRequest = MessageOf<typeof ServerReflectionRequest>;

const FileDescriptorResponse = message('grpc.reflection.FileDescriptorResponse', {
  file_descriptor_proto: repeatedScalar(1, 'bytes'),
});
const ExtensionNumberResponse = message('grpc.reflection.ExtensionNumberResponse', {
  base_type_name: scalar(1, 'string'),
  extension_number: repeatedScalar(2, 'int32'),
});
const ServiceResponse = message('grpc.reflection.ServiceResponse', { name: scalar(1, 'string') });
const ListServiceResponse = message('grpc.reflection.ListServiceResponse', {
  service: repeatedSub(1, () => ServiceResponse),
});
const ErrorResponse = message('grpc.reflection.ErrorResponse', {
  error_code: scalar(1, 'int32'),
  error_message: scalar(2, 'string'),
});

export const ServerReflectionResponse = message('grpc.reflection.ServerReflectionResponse', {
  valid_host: scalar(1, 'string'),
  original_request: sub(2, () => ServerReflectionRequest),
  file_descriptor_response: oneof(
    'message_response',
    sub(4, () => FileDescriptorResponse),
  ),
  all_extension_numbers_response: oneof(
    'message_response',
    sub(5, () => ExtensionNumberResponse),
  ),
  list_services_response: oneof(
    'message_response',
    sub(6, () => ListServiceResponse),
  ),
  error_response: oneof(
    'message_response',
    sub(7, () => ErrorResponse),
  ),
});
export type ServerReflectionResponse = MessageOf<typeof ServerReflectionResponse>;
