/** The client library: everything a program needs to talk to an inference server over HTTP or gRPC. */
export { type Classification, parseClassification } from '../protocol/classification.js';
export { DATATYPES, type Datatype, elementCount, elementSize, isDatatype } from '../protocol/datatype.js';
export { ErrorCode, type ErrorCodeName, TritonError } from '../protocol/error.js';
export type { IndexEntry, ModelState, ModelStatistics, StatisticDuration } from '../protocol/management.js';
export type { ModelConfig } from '../protocol/proto/model-config.js';
export type { Parameters, ParameterValue, Tensor, TensorMetadata } from '../protocol/tensor.js';
export {
  type DatatypeValues,
  makeTensor,
  type TensorValue,
  tensorStrings,
  tensorValues,
  type ValuesOf,
} from '../protocol/tensor-values.js';
export { type FixedDatatype, type TypedArrays, typedView } from '../protocol/typed-view.js';
export { classifications } from './api/classification.js';
export type {
  CallOptions,
  CallTiming,
  ClientOptions,
  InferCall,
  InferenceServerClient,
  InferInput,
  InferRequestedOutput,
  InferResult,
  InferStream,
  ModelMetadata,
  PreparedCall,
  RawInferResult,
  ServerMetadata,
  SharedMemoryReference,
  StreamEvent,
  TlsOptions,
} from './api/client.js';
export type {
  CudaSharedMemoryRegion,
  LogSettings,
  ServerControl,
  SystemSharedMemoryRegion,
  TraceSettings,
} from './api/control.js';
export type { GenerateCall, GenerateEvent, GenerateResult, GenerateScalar, GenerateValue } from './api/generate.js';
export { createClient } from './create-client.js';
export { createGrpcClient } from './grpc/grpc-client.js';
export { createHttpClient } from './http/http-client.js';
export { SharedMemoryObject, type SharedMemoryOptions } from './shared-memory/shared-memory-object.js';
