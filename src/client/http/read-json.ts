/**
 * JSON responses of the management calls, read into the messages that gRPC has for the same calls. Members that a server
 * leaves out get the empty value; members of the wrong kind are an INTERNAL error that names the call.
 */
import { TritonError } from '../../base/error.js';
import { JsonSyntaxError } from '../../protocol/json/json-error.js';
import type { JsonValue } from '../../protocol/json/json-value.js';
import { parseJson } from '../../protocol/json/parse-json.js';
import {
  create,
  type Field,
  type FieldTable,
  type FieldType,
  type MessageOf,
  type MessageSchema,
} from '../../protocol/proto/schema.js';

/** Parses the body of a response and reads it; `what` names it in errors. */
export function readJson<T>(body: Uint8Array, what: string, read: (json: JsonValue) => T): T {
  try {
    return read(parseJson(body));
  } catch (cause) {
    // The parser's own message speaks of a request.
    const reason =
      cause instanceof JsonSyntaxError ? `${cause.reason} at ${cause.offset}` : TritonError.from(cause).message;
    throw new TritonError('INTERNAL', `failed to parse ${what}: ${reason}`, { cause });
  }
}

/** A message from an object whose members have the names of its fields; other members are ignored. */
export function readMessage<F extends FieldTable>(
  schema: MessageSchema<F>,
  json: JsonValue,
): MessageOf<MessageSchema<F>> {
  const message = create(schema) as Record<string, unknown>;
  json.asObject();
  for (const [name, field] of Object.entries<Field>(schema.fields)) {
    const value = json.member(name);
    if (value !== undefined) message[name] = readField(field, value);
  }
  return message as MessageOf<MessageSchema<F>>;
}

function readField({ cardinality, type }: Field, json: JsonValue): unknown {
  switch (cardinality) {
    case 'repeated':
      return json.asArray().map((element) => readValue(type, element));
    case 'map':
      return new Map(json.members().map(([name, value]) => [name.asString(), readValue(type, value)]));
    default:
      return readValue(type, json);
  }
}

function readValue(type: FieldType, json: JsonValue): unknown {
  if (typeof type === 'function') return readMessage(type(), json);
  switch (type) {
    case 'string':
      return json.asString();
    case 'bool':
      return json.asBool();
    case 'int64':
    case 'uint64':
      // Read from the digits, so that none of the 64 bits is lost.
      return json.integer() ?? BigInt(Math.trunc(json.asDouble()));
    default:
      return json.asDouble();
  }
}
