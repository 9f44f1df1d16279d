/** Writing a message in the JSON form of the endpoint `v2/models/<model>/config`. */
import { enumName, type Field, type FieldTable, type MessageSchema } from '../../protocol/proto/schema.js';
import { floatText } from '../pbtxt/write-pbtxt.js';

/**
 * The 64-bit fields that Triton shows as numbers; all others stay strings, as protobuf writes them.
 */
const NUMBERS: ReadonlySet<string> = new Set(
  Object.entries({
    ModelInput: ['dims'],
    ModelOutput: ['dims'],
    ModelTensorReshape: ['shape'],
    'ModelVersionPolicy.Specific': ['versions'],
    ModelDynamicBatching: ['max_queue_delay_microseconds', 'priority_levels', 'default_priority_level'],
    ModelQueuePolicy: ['default_timeout_microseconds'],
    ModelSequenceBatching: ['max_sequence_idle_microseconds'],
    'ModelSequenceBatching.StrategyDirect': ['max_queue_delay_microseconds'],
    'ModelSequenceBatching.StrategyOldest': ['max_queue_delay_microseconds'],
    'ModelSequenceBatching.State': ['dims'],
    'ModelEnsembling.Step': ['model_version'],
    'ModelWarmup.Input': ['dims'],
  }).flatMap(([message, fields]) => fields.map((field) => `inference.${message}.${field}`)),
);

/** Proto names in declaration order, zero scalars and empty lists shown, unset messages left out. */
export function messageToJson<F extends FieldTable>(message: object, schema: MessageSchema<F>): string {
  return writeMessage(message as Readonly<Record<string, unknown>>, schema as MessageSchema);
}

function writeMessage(message: Readonly<Record<string, unknown>>, schema: MessageSchema): string {
  const members: string[] = [];
  for (const [name, field] of Object.entries(schema.fields)) {
    const value = message[name];
    if (value === undefined) continue;
    members.push(`"${name}":${writeField(value, field, NUMBERS.has(`${schema.name}.${name}`))}`);
  }
  return `{${members.join(',')}}`;
}

function writeField(value: unknown, field: Field, asNumber: boolean): string {
  if (field.cardinality === 'repeated') {
    return `[${(value as unknown[]).map((item) => writeSingle(item, field, asNumber)).join(',')}]`;
  }
  if (field.cardinality === 'map') {
    const entries = [...(value as ReadonlyMap<unknown, unknown>)];
    return `{${entries.map(([key, item]) => `${JSON.stringify(String(key))}:${writeSingle(item, field, asNumber)}`).join(',')}}`;
  }
  return writeSingle(value, field, asNumber);
}

function writeSingle(value: unknown, field: Field, asNumber: boolean): string {
  const { type } = field;
  if (typeof type === 'function') return writeMessage(value as Readonly<Record<string, unknown>>, type());
  if (typeof type === 'object') {
    const name = enumName(type, value as number);
    return name === undefined ? String(value) : `"${name}"`;
  }
  if (typeof value === 'bigint') return asNumber ? String(value) : `"${value}"`;
  if (value instanceof Uint8Array) return JSON.stringify(Buffer.from(value).toString('base64'));
  if (typeof value === 'number' && !Number.isFinite(value)) {
    return Number.isNaN(value) ? '"NaN"' : value > 0 ? '"Infinity"' : '"-Infinity"';
  }
  if (type === 'float' || type === 'double') return floatText(value as number, type);
  return JSON.stringify(value);
}
