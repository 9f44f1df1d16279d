/** Messages of inference: ModelInfer and ModelStreamInfer. Names, numbers and types are those of grpc_service.proto (package `inference`). */
import { type MessageOf, mapOfSub, message, oneof, repeatedScalar, repeatedSub, scalar, sub } from '../schema.js';

export const InferParameter = message('inference.InferParameter', {
  bool_param: oneof('parameter_choice', scalar(1, 'bool')),
  int64_param: oneof('parameter_choice', scalar(2, 'int64')),
  string_param: oneof('parameter_choice', scalar(3, 'string')),
  double_param: oneof('parameter_choice', scalar(4, 'double')),
  uint64_param: oneof('parameter_choice', scalar(5, 'uint64')),
});
export type InferParameter = MessageOf<typeof InferParameter>;

export const InferTensorContents = message('inference.InferTensorContents', {
  bool_contents: repeatedScalar(1, 'bool'),
  int_contents: repeatedScalar(2, 'int32'),
  int64_contents: repeatedScalar(3, 'int64'),
  uint_contents: repeatedScalar(4, 'uint32'),
  uint64_contents: repeatedScalar(5, 'uint64'),
  fp32_contents: repeatedScalar(6, 'float'),
  fp64_contents: repeatedScalar(7, 'double'),
  bytes_contents: repeatedScalar(8, 'bytes'),
});
export type InferTensorContents = MessageOf<typeof InferTensorContents>;

export const InferInputTensor = message('inference.ModelInferRequest.InferInputTensor', {
  name: scalar(1, 'string'),
  datatype: scalar(2, 'string'),
  shape: repeatedScalar(3, 'int64'),
  parameters: mapOfSub(4, 'string', () => InferParameter),
  contents: sub(5, () => InferTensorContents),
});
export type InferInputTensor = MessageOf<typeof InferInputTensor>;

export const InferRequestedOutputTensor = message('inference.ModelInferRequest.InferRequestedOutputTensor', {
  name: scalar(1, 'string'),
  parameters: mapOfSub(2, 'string', () => InferParameter),
});
export type InferRequestedOutputTensor = MessageOf<typeof InferRequestedOutputTensor>;

export const ModelInferRequest = message('inference.ModelInferRequest', {
  model_name: scalar(1, 'string'),
  model_version: scalar(2, 'string'),
  id: scalar(3, 'string'),
  parameters: mapOfSub(4, 'string', () => InferParameter),
  inputs: repeatedSub(5, () => InferInputTensor),
  outputs: repeatedSub(6, () => InferRequestedOutputTensor),
  raw_input_contents: repeatedScalar(7, 'bytes'),
});
export type ModelInferRequest = MessageOf<typeof ModelInferRequest>;

export const InferOutputTensor = message('inference.ModelInferResponse.InferOutputTensor', {
  name: scalar(1, 'string'),
  datatype: scalar(2, 'string'),
  shape: repeatedScalar(3, 'int64'),
  parameters: mapOfSub(4, 'string', () => InferParameter),
  contents: sub(5, () => InferTensorContents),
});
export type InferOutputTensor = MessageOf<typeof InferOutputTensor>;

export const ModelInferResponse = message('inference.ModelInferResponse', {
  model_name: scalar(1, 'string'),
  model_version: scalar(2, 'string'),
  id: scalar(3, 'string'),
  parameters: mapOfSub(4, 'string', () => InferParameter),
  outputs: repeatedSub(5, () => InferOutputTensor),
  raw_output_contents: repeatedScalar(6, 'bytes'),
});
export type ModelInferResponse = MessageOf<typeof ModelInferResponse>;

export const ModelStreamInferResponse = message('inference.ModelStreamInferResponse', {
  error_message: scalar(1, 'string'),
  infer_response: sub(2, () => ModelInferResponse),
});
export type ModelStreamInferResponse = MessageOf<typeof ModelStreamInferResponse>;
