/**
 * `ModelConfig` and everything in it, as tables (model_config.proto, package `inference`). The declaration order is the
 * order of the JSON form; field 22 of ModelConfig is unused in Triton.
 */
import {
  create,
  enumeration,
  enumField,
  type MessageOf,
  mapOf,
  mapOfSub,
  message,
  oneof,
  repeatedScalar,
  repeatedSub,
  scalar,
  sub,
} from './schema.js';

export const DataType = enumeration('inference.DataType', {
  TYPE_INVALID: 0,
  TYPE_BOOL: 1,
  TYPE_UINT8: 2,
  TYPE_UINT16: 3,
  TYPE_UINT32: 4,
  TYPE_UINT64: 5,
  TYPE_INT8: 6,
  TYPE_INT16: 7,
  TYPE_INT32: 8,
  TYPE_INT64: 9,
  TYPE_FP16: 10,
  TYPE_FP32: 11,
  TYPE_FP64: 12,
  TYPE_STRING: 13,
  TYPE_BF16: 14,
});

export const InstanceKind = enumeration('inference.ModelInstanceGroup.Kind', {
  KIND_AUTO: 0,
  KIND_GPU: 1,
  KIND_CPU: 2,
  KIND_MODEL: 3,
});

export const SecondaryDeviceKind = enumeration('inference.ModelInstanceGroup.SecondaryDevice.SecondaryDeviceKind', {
  KIND_NVDLA: 0,
});

export const InputFormat = enumeration('inference.ModelInput.Format', {
  FORMAT_NONE: 0,
  FORMAT_NHWC: 1,
  FORMAT_NCHW: 2,
});

export const BatchInputKind = enumeration('inference.BatchInput.Kind', {
  BATCH_ELEMENT_COUNT: 0,
  BATCH_ACCUMULATED_ELEMENT_COUNT: 1,
  BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO: 2,
  BATCH_MAX_ELEMENT_COUNT_AS_SHAPE: 3,
  BATCH_ITEM_SHAPE: 4,
  BATCH_ITEM_SHAPE_FLATTEN: 5,
});

export const BatchOutputKind = enumeration('inference.BatchOutput.Kind', { BATCH_SCATTER_WITH_INPUT_SHAPE: 0 });

export const ModelPriority = enumeration('inference.ModelOptimizationPolicy.ModelPriority', {
  PRIORITY_DEFAULT: 0,
  PRIORITY_MAX: 1,
  PRIORITY_MIN: 2,
});

export const TimeoutAction = enumeration('inference.ModelQueuePolicy.TimeoutAction', { REJECT: 0, DELAY: 1 });

export const ControlKind = enumeration('inference.ModelSequenceBatching.Control.Kind', {
  CONTROL_SEQUENCE_START: 0,
  CONTROL_SEQUENCE_READY: 1,
  CONTROL_SEQUENCE_END: 2,
  CONTROL_SEQUENCE_CORRID: 3,
});

export const RateLimiterResource = message('inference.ModelRateLimiter.Resource', {
  name: scalar(1, 'string'),
  global: scalar(2, 'bool'),
  count: scalar(3, 'uint32'),
});

export const ModelRateLimiter = message('inference.ModelRateLimiter', {
  resources: repeatedSub(1, () => RateLimiterResource),
  priority: scalar(2, 'uint32'),
});

export const SecondaryDevice = message('inference.ModelInstanceGroup.SecondaryDevice', {
  kind: enumField(1, SecondaryDeviceKind),
  device_id: scalar(2, 'int64'),
});

export const ModelInstanceGroup = message('inference.ModelInstanceGroup', {
  name: scalar(1, 'string'),
  kind: enumField(4, InstanceKind),
  count: scalar(2, 'int32'),
  rate_limiter: sub(6, () => ModelRateLimiter),
  gpus: repeatedScalar(3, 'int32'),
  secondary_devices: repeatedSub(8, () => SecondaryDevice),
  profile: repeatedScalar(5, 'string'),
  passive: scalar(7, 'bool'),
  host_policy: scalar(9, 'string'),
});
export type ModelInstanceGroup = MessageOf<typeof ModelInstanceGroup>;

export const ModelTensorReshape = message('inference.ModelTensorReshape', { shape: repeatedScalar(1, 'int64') });

export const ModelInput = message('inference.ModelInput', {
  name: scalar(1, 'string'),
  data_type: enumField(2, DataType),
  format: enumField(3, InputFormat),
  dims: repeatedScalar(4, 'int64'),
  reshape: sub(5, () => ModelTensorReshape),
  is_shape_tensor: scalar(6, 'bool'),
  allow_ragged_batch: scalar(7, 'bool'),
  optional: scalar(8, 'bool'),
  is_non_linear_format_io: scalar(9, 'bool'),
});
export type ModelInput = MessageOf<typeof ModelInput>;

export const ModelOutput = message('inference.ModelOutput', {
  name: scalar(1, 'string'),
  data_type: enumField(2, DataType),
  dims: repeatedScalar(3, 'int64'),
  reshape: sub(5, () => ModelTensorReshape),
  label_filename: scalar(4, 'string'),
  is_shape_tensor: scalar(6, 'bool'),
  is_non_linear_format_io: scalar(7, 'bool'),
});
export type ModelOutput = MessageOf<typeof ModelOutput>;

export const BatchInput = message('inference.BatchInput', {
  kind: enumField(1, BatchInputKind),
  target_name: repeatedScalar(2, 'string'),
  data_type: enumField(3, DataType),
  source_input: repeatedScalar(4, 'string'),
});

export const BatchOutput = message('inference.BatchOutput', {
  target_name: repeatedScalar(1, 'string'),
  kind: enumField(2, BatchOutputKind),
  source_input: repeatedScalar(3, 'string'),
});

export const VersionPolicyLatest = message('inference.ModelVersionPolicy.Latest', {
  num_versions: scalar(1, 'uint32'),
});
export const VersionPolicyAll = message('inference.ModelVersionPolicy.All', {});
export const VersionPolicySpecific = message('inference.ModelVersionPolicy.Specific', {
  versions: repeatedScalar(1, 'int64'),
});

export const ModelVersionPolicy = message('inference.ModelVersionPolicy', {
  latest: oneof(
    'policy_choice',
    sub(1, () => VersionPolicyLatest),
  ),
  all: oneof(
    'policy_choice',
    sub(2, () => VersionPolicyAll),
  ),
  specific: oneof(
    'policy_choice',
    sub(3, () => VersionPolicySpecific),
  ),
});
export type ModelVersionPolicy = MessageOf<typeof ModelVersionPolicy>;

export const OptimizationGraph = message('inference.ModelOptimizationPolicy.Graph', { level: scalar(1, 'int32') });

export const CudaShape = message('inference.ModelOptimizationPolicy.Cuda.GraphSpec.Shape', {
  dim: repeatedScalar(1, 'int64'),
});

export const CudaLowerBound = message('inference.ModelOptimizationPolicy.Cuda.GraphSpec.LowerBound', {
  batch_size: scalar(1, 'int32'),
  input: mapOfSub(2, 'string', () => CudaShape),
});

export const CudaGraphSpec = message('inference.ModelOptimizationPolicy.Cuda.GraphSpec', {
  batch_size: scalar(1, 'int32'),
  input: mapOfSub(2, 'string', () => CudaShape),
  graph_lower_bound: sub(3, () => CudaLowerBound),
});

export const OptimizationCuda = message('inference.ModelOptimizationPolicy.Cuda', {
  graphs: scalar(1, 'bool'),
  busy_wait_events: scalar(2, 'bool'),
  graph_spec: repeatedSub(3, () => CudaGraphSpec),
  output_copy_stream: scalar(4, 'bool'),
});

export const Accelerator = message('inference.ModelOptimizationPolicy.ExecutionAccelerators.Accelerator', {
  name: scalar(1, 'string'),
  parameters: mapOf(2, 'string', 'string'),
});

export const ExecutionAccelerators = message('inference.ModelOptimizationPolicy.ExecutionAccelerators', {
  gpu_execution_accelerator: repeatedSub(1, () => Accelerator),
  cpu_execution_accelerator: repeatedSub(2, () => Accelerator),
});

export const PinnedMemoryBuffer = message('inference.ModelOptimizationPolicy.PinnedMemoryBuffer', {
  enable: scalar(1, 'bool'),
});

export const ModelOptimizationPolicy = message('inference.ModelOptimizationPolicy', {
  graph: sub(1, () => OptimizationGraph),
  priority: enumField(2, ModelPriority),
  cuda: sub(3, () => OptimizationCuda),
  execution_accelerators: sub(4, () => ExecutionAccelerators),
  input_pinned_memory: sub(5, () => PinnedMemoryBuffer),
  output_pinned_memory: sub(6, () => PinnedMemoryBuffer),
  gather_kernel_buffer_threshold: scalar(7, 'uint32'),
  eager_batching: scalar(8, 'bool'),
});

export const ModelQueuePolicy = message('inference.ModelQueuePolicy', {
  timeout_action: enumField(1, TimeoutAction),
  default_timeout_microseconds: scalar(2, 'uint64'),
  allow_timeout_override: scalar(3, 'bool'),
  max_queue_size: scalar(4, 'uint32'),
});
export type ModelQueuePolicy = MessageOf<typeof ModelQueuePolicy>;

export const ModelDynamicBatching = message('inference.ModelDynamicBatching', {
  preferred_batch_size: repeatedScalar(1, 'int32'),
  max_queue_delay_microseconds: scalar(2, 'uint64'),
  preserve_ordering: scalar(3, 'bool'),
  priority_levels: scalar(4, 'uint64'),
  default_priority_level: scalar(5, 'uint64'),
  default_queue_policy: sub(6, () => ModelQueuePolicy),
  priority_queue_policy: mapOfSub(7, 'uint64', () => ModelQueuePolicy),
});
export type ModelDynamicBatching = MessageOf<typeof ModelDynamicBatching>;

export const SequenceControl = message('inference.ModelSequenceBatching.Control', {
  kind: enumField(1, ControlKind),
  int32_false_true: repeatedScalar(2, 'int32'),
  fp32_false_true: repeatedScalar(3, 'float'),
  bool_false_true: repeatedScalar(5, 'bool'),
  data_type: enumField(4, DataType),
});

export const SequenceControlInput = message('inference.ModelSequenceBatching.ControlInput', {
  name: scalar(1, 'string'),
  control: repeatedSub(2, () => SequenceControl),
});

export const SequenceInitialState = message('inference.ModelSequenceBatching.InitialState', {
  data_type: enumField(1, DataType),
  dims: repeatedScalar(2, 'int64'),
  zero_data: oneof('state_data', scalar(3, 'bool')),
  data_file: oneof('state_data', scalar(4, 'string')),
  name: scalar(5, 'string'),
});

export const SequenceState = message('inference.ModelSequenceBatching.State', {
  input_name: scalar(1, 'string'),
  output_name: scalar(2, 'string'),
  data_type: enumField(3, DataType),
  dims: repeatedScalar(4, 'int64'),
  initial_state: repeatedSub(5, () => SequenceInitialState),
  use_same_buffer_for_input_output: scalar(6, 'bool'),
  use_growable_memory: scalar(7, 'bool'),
});

export const StrategyDirect = message('inference.ModelSequenceBatching.StrategyDirect', {
  max_queue_delay_microseconds: scalar(1, 'uint64'),
  minimum_slot_utilization: scalar(2, 'float'),
});

export const StrategyOldest = message('inference.ModelSequenceBatching.StrategyOldest', {
  max_candidate_sequences: scalar(1, 'int32'),
  preferred_batch_size: repeatedScalar(2, 'int32'),
  max_queue_delay_microseconds: scalar(3, 'uint64'),
  preserve_ordering: scalar(4, 'bool'),
});

export const ModelSequenceBatching = message('inference.ModelSequenceBatching', {
  direct: oneof(
    'strategy_choice',
    sub(3, () => StrategyDirect),
  ),
  oldest: oneof(
    'strategy_choice',
    sub(4, () => StrategyOldest),
  ),
  max_sequence_idle_microseconds: scalar(1, 'uint64'),
  control_input: repeatedSub(2, () => SequenceControlInput),
  state: repeatedSub(5, () => SequenceState),
  iterative_sequence: scalar(6, 'bool'),
});
export type ModelSequenceBatching = MessageOf<typeof ModelSequenceBatching>;

export const EnsembleStep = message('inference.ModelEnsembling.Step', {
  model_name: scalar(1, 'string'),
  model_version: scalar(2, 'int64'),
  input_map: mapOf(3, 'string', 'string'),
  output_map: mapOf(4, 'string', 'string'),
  model_namespace: scalar(5, 'string'),
});

export const ModelEnsembling = message('inference.ModelEnsembling', {
  step: repeatedSub(1, () => EnsembleStep),
  max_inflight_requests: scalar(2, 'uint32'),
});
export type ModelEnsembling = MessageOf<typeof ModelEnsembling>;

export const ModelParameter = message('inference.ModelParameter', { string_value: scalar(1, 'string') });

export const WarmupInput = message('inference.ModelWarmup.Input', {
  data_type: enumField(1, DataType),
  dims: repeatedScalar(2, 'int64'),
  zero_data: oneof('input_data_type', scalar(3, 'bool')),
  random_data: oneof('input_data_type', scalar(4, 'bool')),
  input_data_file: oneof('input_data_type', scalar(5, 'string')),
});

export const ModelWarmup = message('inference.ModelWarmup', {
  name: scalar(1, 'string'),
  batch_size: scalar(2, 'uint32'),
  inputs: mapOfSub(3, 'string', () => WarmupInput),
  count: scalar(4, 'uint32'),
});

export const ModelOperations = message('inference.ModelOperations', {
  op_library_filename: repeatedScalar(1, 'string'),
});

export const ModelTransactionPolicy = message('inference.ModelTransactionPolicy', { decoupled: scalar(1, 'bool') });

export const RepositoryAgent = message('inference.ModelRepositoryAgents.Agent', {
  name: scalar(1, 'string'),
  parameters: mapOf(2, 'string', 'string'),
});

export const ModelRepositoryAgents = message('inference.ModelRepositoryAgents', {
  agents: repeatedSub(1, () => RepositoryAgent),
});

export const ModelResponseCache = message('inference.ModelResponseCache', { enable: scalar(1, 'bool') });

export const MetricIdentifier = message('inference.ModelMetrics.MetricControl.MetricIdentifier', {
  family: scalar(1, 'string'),
});

export const HistogramOptions = message('inference.ModelMetrics.MetricControl.HistogramOptions', {
  buckets: repeatedScalar(1, 'double'),
});

export const MetricControl = message('inference.ModelMetrics.MetricControl', {
  metric_identifier: sub(1, () => MetricIdentifier),
  histogram_options: oneof(
    'metric_options',
    sub(2, () => HistogramOptions),
  ),
});

export const ModelMetrics = message('inference.ModelMetrics', { metric_control: repeatedSub(1, () => MetricControl) });

export const ModelConfig = message('inference.ModelConfig', {
  name: scalar(1, 'string'),
  platform: scalar(2, 'string'),
  backend: scalar(17, 'string'),
  runtime: scalar(25, 'string'),
  version_policy: sub(3, () => ModelVersionPolicy),
  max_batch_size: scalar(4, 'int32'),
  input: repeatedSub(5, () => ModelInput),
  output: repeatedSub(6, () => ModelOutput),
  batch_input: repeatedSub(20, () => BatchInput),
  batch_output: repeatedSub(21, () => BatchOutput),
  optimization: sub(12, () => ModelOptimizationPolicy),
  dynamic_batching: oneof(
    'scheduling_choice',
    sub(11, () => ModelDynamicBatching),
  ),
  sequence_batching: oneof(
    'scheduling_choice',
    sub(13, () => ModelSequenceBatching),
  ),
  ensemble_scheduling: oneof(
    'scheduling_choice',
    sub(15, () => ModelEnsembling),
  ),
  instance_group: repeatedSub(7, () => ModelInstanceGroup),
  default_model_filename: scalar(8, 'string'),
  cc_model_filenames: mapOf(9, 'string', 'string'),
  metric_tags: mapOf(10, 'string', 'string'),
  parameters: mapOfSub(14, 'string', () => ModelParameter),
  model_warmup: repeatedSub(16, () => ModelWarmup),
  model_operations: sub(18, () => ModelOperations),
  model_transaction_policy: sub(19, () => ModelTransactionPolicy),
  model_repository_agents: sub(23, () => ModelRepositoryAgents),
  response_cache: sub(24, () => ModelResponseCache),
  model_metrics: sub(26, () => ModelMetrics),
});

/** A model's configuration, as written, completed or shown. */
export type ModelConfig = MessageOf<typeof ModelConfig>;

/** An empty configuration. */
export function emptyModelConfig(): ModelConfig {
  return create(ModelConfig);
}
