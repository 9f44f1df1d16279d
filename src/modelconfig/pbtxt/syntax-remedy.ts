/** How to correct what protobuf's parser complains about: a sentence for each of its messages. */

import { nearestName } from '../../base/nearest-name.js';
import { type DataType, ModelConfig } from '../../protocol/proto/model-config.js';
import type { EnumName, EnumSchema, MessageSchema } from '../../protocol/proto/schema.js';
import type { ParseError } from './parser.js';

/** Names that people take from other programs, and what they are here. */
const TYPE_ALIASES: Readonly<Record<string, EnumName<typeof DataType>>> = {
  FLOAT: 'TYPE_FP32',
  FLOAT32: 'TYPE_FP32',
  FLOAT16: 'TYPE_FP16',
  HALF: 'TYPE_FP16',
  BFLOAT16: 'TYPE_BF16',
  DOUBLE: 'TYPE_FP64',
  FLOAT64: 'TYPE_FP64',
  INT: 'TYPE_INT32',
  LONG: 'TYPE_INT64',
  BYTE: 'TYPE_UINT8',
  BYTES: 'TYPE_STRING',
  STR: 'TYPE_STRING',
  BOOLEAN: 'TYPE_BOOL',
};

type Remedy = (...groups: string[]) => string | undefined;

/** The first whose pattern matches wins. */
const REMEDIES: readonly (readonly [pattern: RegExp, remedy: Remedy])[] = [
  [/^Message type "(.+)" has no field named "(.+)"\.$/, unknownField],
  [/^Unknown enumeration value of "(.+)" for field "(.+)"\.$/, unknownValue],
  [/^Non-repeated field "(.+)" is specified multiple times\.$/, (field) => `Keep one '${field}'.`],
  [
    /^Field "(.+)" is specified along with field "(.+)", another member of oneof/,
    (a, b) => `Keep either '${a}' or '${b}'.`,
  ],
  [/^Expected ":", found/, () => "Write a colon between the field's name and its value."],
  [/^Expected ",", found/, () => 'Write a comma between the elements of the list.'],
  [/^Expected (?:"\{"|integer|string|double|identifier).*(?:found "|got: )\]/, () => 'Remove the comma before the ].'],
  [/^Expected "\{", found "\["\.$/, () => 'The field holds one message, not a list: write { ... }.'],
  [/^Expected "\{", found/, () => 'The field holds a message: write { ... }.'],
  [/^Expected "([}>])", found/, (bracket) => `Close the message with ${bracket}.`],
  [/^Expected (?:integer|string|double).*got: \[/, () => 'The field holds one value, not a list.'],
  [
    /^Expected (integer|string|double), got: (?:[}\]>,;]|)$/,
    (kind) => `Write the value behind the colon: ${kind === 'string' ? 'a text in quotes' : 'a number'}.`,
  ],
  [/^Expected integer, got: "/, () => 'Write the number without quotes.'],
  [/^Expected integer, got: -/, () => 'The number must not be negative.'],
  [/^Expected integer, got: [0-9.]/, () => 'Write a whole number.'],
  [/^Expected integer or identifier, got: "/, () => 'Write the name without quotes.'],
  [/^Expected string, got: \w/, () => 'Write the text in double quotes.'],
  [
    /^Expected identifier, got: \{$/,
    () => 'This looks like JSON; a configuration is in protobuf text format: name: "..."',
  ],
  [/^Expected identifier, got: "/, () => 'Write the name without quotes.'],
  [/^Expected identifier, got: \}$/, () => 'Remove the bracket: nothing is open here.'],
  [/^Expected identifier, got: [,;]$/, () => 'Remove the second separator.'],
  [/^Expected identifier, got: $/, () => 'A bracket is not closed, or a field has no value.'],
  [/^Expected identifier, got: \d+$/, () => "Write the field's name, not its number."],
  [/^Invalid value for boolean field/, () => 'Write true or false.'],
  [/^Integer out of range/, () => 'Write a number that the field can hold.'],
  [/^Interpreting non ascii codepoint 239\.$/, () => 'Save the file as UTF-8 without a byte order mark.'],
  [/^Interpreting non ascii/, () => 'Letters outside ASCII may only stand in quotes and comments.'],
  [/^(?:String literals cannot|Unexpected end of string)/, () => 'Close the text with the quote that began it.'],
  [/^Numbers starting with leading zero/, () => 'Write the number without leading zeros.'],
  [/^Expect a decimal number/, () => 'Write a decimal number.'],
  [/escape sequence/, () => 'Write a backslash as \\\\.'],
  [/^Need space between number and identifier/, () => 'Put a blank after the number, or quotes around the text.'],
];

/** One sentence about what to change, undefined where the message says enough. */
export function syntaxRemedy(error: ParseError): string | undefined {
  return mapEntryRemedy(error) ?? openBracketRemedy(error) ?? remedyOfMessage(error.message);
}

/** An entry of a map is a message with the fields key and value, which nobody guesses. */
function mapEntryRemedy({ message, map }: ParseError): string | undefined {
  if (map === undefined || !/^(?:Expected identifier|Message type ".+Entry" has no field)/.test(message))
    return undefined;
  const { type } = map.field;
  const fields = typeof type === 'function' ? Object.keys(type().fields) : undefined;
  const value =
    fields === undefined ? '"..."' : fields.includes('string_value') ? '{ string_value: "..." }' : '{ ... }';
  return `Write each entry as ${map.name} { key: "..." value: ${value} }.`;
}

/** A bracket that is never closed shows where the next field of an outer message begins, or at the end of the file. */
function openBracketRemedy({ message, open, around }: ParseError): string | undefined {
  const inner = open.at(-1);
  if (inner === undefined) return undefined;
  const [, unknown] = /^Message type ".+" has no field named "(.+)"\.$/.exec(message) ?? [];
  const belongsOutside =
    unknown !== undefined && around.slice(0, -1).some(({ fields }) => Object.hasOwn(fields, unknown));
  const atEnd = message === 'Expected identifier, got: ' || /^Expected "[\]}>,]", found ""\.$/.test(message);
  // After an element, anything but a comma or the end of the list.
  const listEnds = inner.bracket === '[' && /^Expected ",", found "[a-z_]+"\.$/.test(message);
  if (!belongsOutside && !atEnd && !listEnds) return undefined;
  const { field, bracket, position } = inner;
  const closer = { '{': '}', '<': '>', '[': ']' }[bracket];
  return `The ${bracket} of '${field}' in line ${position.line} is not closed: write ${closer} ${atEnd ? 'at its end' : 'before this'}.`;
}

function remedyOfMessage(message: string): string | undefined {
  for (const [pattern, remedy] of REMEDIES) {
    const match = pattern.exec(message);
    if (match !== null) return remedy(...match.slice(1));
  }
  return undefined;
}

function unknownField(type = '', field = ''): string | undefined {
  const schema = schemas().messages.get(type);
  if (schema === undefined) return undefined;
  const names = Object.keys(schema.fields);
  const near = nearestName(field, names) ?? names.find((name) => name === `${field}s` || `${name}s` === field);
  if (near !== undefined) return `Did you mean '${near}'?`;
  // A bracket closed too early or too late puts fields where they do not belong.
  const homes = [...schemas().messages.values()].filter(({ fields }) => Object.hasOwn(fields, field));
  const home = homes[0]?.name.replace(/^inference\./, '');
  if (home !== undefined) return `'${field}' belongs into ${home}: is a bracket misplaced?`;
  return `The fields here are: ${names.join(', ')}.`;
}

function unknownValue(value = '', field = ''): string | undefined {
  const named = schemas().enums.filter((candidate) => candidate.field === field);
  const names = [...new Set(named.flatMap(({ type }) => Object.keys(type.values)))];
  const bare = value.toUpperCase().replace(/^TYPE_/, '');
  const alias = Object.hasOwn(TYPE_ALIASES, bare) ? TYPE_ALIASES[bare] : undefined;
  const near = [alias, `TYPE_${bare}`, nearestName(value, names)].find((name) => name && names.includes(name));
  return near === undefined ? `It is one of ${names.join(', ')}.` : `Did you mean '${near}'?`;
}

interface Schemas {
  readonly messages: ReadonlyMap<string, MessageSchema>;
  readonly enums: readonly { readonly field: string; readonly type: EnumSchema }[];
}

let found: Schemas | undefined;

/** Every message and enum that a configuration may hold. */
function schemas(): Schemas {
  if (found !== undefined) return found;
  const messages = new Map<string, MessageSchema>();
  const enums: { field: string; type: EnumSchema }[] = [];
  const visit = (schema: MessageSchema): void => {
    if (messages.has(schema.name)) return;
    messages.set(schema.name, schema);
    for (const [name, { type }] of Object.entries(schema.fields)) {
      if (typeof type === 'function') visit(type());
      else if (typeof type === 'object') enums.push({ field: name, type });
    }
  };
  visit(ModelConfig);
  found = { messages, enums };
  return found;
}
