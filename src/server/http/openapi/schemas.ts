/** Bodies of the HTTP protocol as JSON schemas, for the OpenAPI document. */

/** A JSON schema (draft 2020-12, as OpenAPI 3.1 uses it). */
export type Schema = Readonly<Record<string, unknown>>;

const TEXT: Schema = { type: 'string' };
const BOOL: Schema = { type: 'boolean' };
const COUNT: Schema = { type: 'integer', minimum: 0 };

const DATATYPE: Schema = {
  enum: 'BOOL UINT8 UINT16 UINT32 UINT64 INT8 INT16 INT32 INT64 FP16 FP32 FP64 BYTES BF16'.split(' '),
};

/** A reference to one of `SCHEMAS`. */
export function schemaRef(name: keyof typeof SCHEMAS): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

function object(properties: Readonly<Record<string, Schema>>, required: readonly string[] = Object.keys(properties)) {
  return { type: 'object', properties, ...(required.length === 0 ? {} : { required }) } as const;
}

const list = (items: Schema): Schema => ({ type: 'array', items });
const refTo = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

const DURATION = refTo('Duration');
const durations = (names: string) => Object.fromEntries(names.split(' ').map((name) => [name, DURATION]));

/** Every named schema of the document. */
export const SCHEMAS = {
  Error: object({ error: TEXT }),
  ServerMetadata: object({ name: TEXT, version: TEXT, extensions: list(TEXT) }),
  TensorMetadata: object({ name: TEXT, datatype: DATATYPE, shape: list({ type: 'integer', minimum: -1 }) }),
  ModelMetadata: object({
    name: TEXT,
    versions: list(TEXT),
    platform: TEXT,
    inputs: list(refTo('TensorMetadata')),
    outputs: list(refTo('TensorMetadata')),
  }),
  ModelConfig: {
    type: 'object',
    description: 'The completed configuration: the members of config.pbtxt under the same names.',
    properties: { name: TEXT, platform: TEXT, backend: TEXT, max_batch_size: COUNT },
    required: ['name', 'platform', 'backend', 'max_batch_size', 'input', 'output'],
  },
  Parameters: {
    type: 'object',
    additionalProperties: { type: ['string', 'number', 'boolean'] },
  },
  TensorData: {
    type: 'array',
    description: 'Elements in row-major order; nested lists that follow the shape are taken too.',
  },
  RequestInput: object(
    {
      name: TEXT,
      datatype: DATATYPE,
      shape: list(COUNT),
      parameters: refTo('Parameters'),
      data: refTo('TensorData'),
    },
    ['name', 'datatype', 'shape'],
  ),
  RequestOutput: object({ name: TEXT, parameters: refTo('Parameters') }, ['name']),
  InferenceRequest: object(
    {
      id: TEXT,
      parameters: refTo('Parameters'),
      inputs: list(refTo('RequestInput')),
      outputs: list(refTo('RequestOutput')),
    },
    ['inputs'],
  ),
  ResponseOutput: object(
    {
      name: TEXT,
      datatype: DATATYPE,
      shape: list(COUNT),
      parameters: refTo('Parameters'),
      data: refTo('TensorData'),
    },
    ['name', 'datatype', 'shape'],
  ),
  InferenceResponse: object(
    {
      id: TEXT,
      model_name: TEXT,
      model_version: TEXT,
      parameters: refTo('Parameters'),
      outputs: list(refTo('ResponseOutput')),
    },
    ['model_name', 'model_version', 'outputs'],
  ),
  GenerateRequest: {
    type: 'object',
    description: 'Members named like inputs of the model become tensors, the others parameters.',
    properties: { id: TEXT, parameters: refTo('Parameters') },
    additionalProperties: true,
  },
  GenerateResponse: object({ id: TEXT, model_name: TEXT, model_version: TEXT }, ['model_name', 'model_version']),
  Duration: object({ count: COUNT, ns: COUNT }),
  ModelStatistics: object({
    name: TEXT,
    version: TEXT,
    last_inference: COUNT,
    inference_count: COUNT,
    execution_count: COUNT,
    inference_stats: object(
      durations('success fail queue compute_input compute_infer compute_output cache_hit cache_miss'),
    ),
    response_stats: { type: 'object' },
    batch_stats: list(object({ batch_size: COUNT, ...durations('compute_input compute_infer compute_output') })),
    memory_usage: list(object({ type: TEXT, id: COUNT, byte_size: COUNT })),
  }),
  Statistics: object({ model_stats: list(refTo('ModelStatistics')) }),
  IndexRequest: object({ ready: BOOL }, []),
  Index: list(
    object(
      {
        name: TEXT,
        version: TEXT,
        state: { enum: ['UNKNOWN', 'READY', 'UNAVAILABLE', 'LOADING', 'UNLOADING'] },
        reason: TEXT,
      },
      ['name'],
    ),
  ),
  LoadRequest: object(
    {
      parameters: {
        type: 'object',
        description: '`config`: a model configuration as JSON text; `file:<path>`: content of a file, in base64.',
        additionalProperties: TEXT,
      },
    },
    [],
  ),
  UnloadRequest: object({ parameters: object({ unload_dependents: BOOL }, []) }, []),
  TraceSettings: {
    type: 'object',
    description: 'All but `trace_level` are texts, numbers too. In a request, null goes back to the default.',
    properties: {
      trace_level: { type: ['array', 'null'], items: { enum: ['OFF', 'TIMESTAMPS', 'TENSORS'] } },
      trace_rate: { type: ['string', 'null'] },
      trace_count: { type: ['string', 'null'] },
      log_frequency: { type: ['string', 'null'] },
      trace_file: { type: ['string', 'null'] },
      trace_mode: TEXT,
    },
  },
  LogSettings: object(
    {
      log_file: TEXT,
      log_info: BOOL,
      log_warning: BOOL,
      log_error: BOOL,
      log_verbose_level: COUNT,
      log_format: { enum: ['default', 'ISO8601'] },
    },
    [],
  ),
  SystemRegion: object({ key: TEXT, offset: COUNT, byte_size: COUNT }, ['key', 'byte_size']),
  SystemRegions: list(object({ name: TEXT, key: TEXT, offset: COUNT, byte_size: COUNT })),
  CudaRegion: object({ raw_handle: object({ b64: TEXT }), device_id: COUNT, byte_size: COUNT }),
  CudaRegions: list(object({ name: TEXT, device_id: COUNT, byte_size: COUNT })),
} satisfies Record<string, Schema>;
