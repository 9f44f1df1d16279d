/**
 * The canonical form of a configuration's text: that of protobuf's own printer (fields by number, one value per line, two
 * blanks of indent), with the comments of the file kept where they belong. Values that say what goes without
 * saying stay, as somebody wrote them on purpose.
 */
import { ModelConfig } from '../../protocol/proto/model-config.js';
import {
  type EnumSchema,
  enumName,
  type Field,
  type MessageSchema,
  type ScalarType,
} from '../../protocol/proto/schema.js';
import { type CommentedToken, commentedTokens } from './comments.js';
import { escapeString, unescapeString } from './string-literal.js';
import { floatText } from './write-pbtxt.js';

/** Something that a comment can stand behind. */
interface Target {
  trailing: string[];
}

/** One occurrence of a field; lists are taken apart. */
interface FieldNode extends Target {
  readonly name: string;
  readonly number: number;
  /** Comments above; '' is a blank line. */
  leading: string[];
  value: string | MessageNode;
  /** Value of the map key that the field is the entry of, for sorting. */
  key?: string | bigint;
}

interface MessageNode extends Target {
  fields: FieldNode[];
  /** Comments before the closing bracket. */
  dangling: string[];
}

/** Formats a text that `readPbtxt` reads without errors. */
export function formatPbtxt(text: Uint8Array): string {
  const builder = new Builder(commentedTokens(text));
  const root = builder.file(ModelConfig);
  const lines: string[] = [];
  const [first] = root.fields;
  if (first !== undefined) {
    // What a blank line parts from the first field is about the file and stays at its top.
    const blank = first.leading.lastIndexOf('');
    lines.push(...first.leading.splice(0, blank + 1));
  }
  printFields(root, '', lines);
  while (lines[0] === '') lines.shift();
  return lines.map((line) => `${line}\n`).join('');
}

class Builder {
  readonly #tokens: readonly CommentedToken[];
  #at = 0;
  /** Comments that wait for the next field. */
  #pending: string[] = [];
  /** What a comment on the current line belongs to. */
  #target: Target = { trailing: [] };

  constructor(tokens: readonly CommentedToken[]) {
    this.#tokens = tokens;
  }

  file(schema: MessageSchema): MessageNode {
    const root: MessageNode = { fields: [], dangling: [], trailing: [] };
    while (this.#current.type !== 'end') root.fields.push(...this.#field(schema.fields));
    this.#enter();
    root.dangling = this.#takePending();
    return root;
  }

  get #current(): CommentedToken {
    return this.#tokens[this.#at] as CommentedToken;
  }

  /** Takes in the comments before the current token. */
  #enter(): void {
    const { trailing, lines } = this.#current;
    if (trailing !== undefined) this.#target.trailing.push(trailing);
    this.#pending.push(...lines);
  }

  #next(): CommentedToken {
    const token = this.#current;
    this.#enter();
    this.#at += 1;
    return token;
  }

  #is(symbol: string): boolean {
    return this.#current.type === 'symbol' && this.#current.text === symbol;
  }

  #take(...symbols: string[]): boolean {
    if (!symbols.some((symbol) => this.#is(symbol))) return false;
    this.#next();
    return true;
  }

  #takePending(): string[] {
    const pending = this.#pending;
    this.#pending = [];
    return pending;
  }

  /** One field of the text: a list of several becomes several occurrences. */
  #field(fields: MessageSchema['fields']): FieldNode[] {
    const name = this.#next().text;
    const field = fields[name] as Field;
    const start = (): FieldNode => ({
      ...{ name, number: field.number, leading: this.#takePending(), value: '', trailing: [] },
    });
    const nodes: FieldNode[] = [];
    const first = start();
    this.#target = first;
    this.#take(':');
    if (field.cardinality !== 'singular' && this.#is('[')) {
      this.#next();
      let node: FieldNode | undefined = first;
      // A comment behind the bracket is about the first element.
      const opener: Target = { trailing: first.leading };
      this.#target = opener;
      while (!this.#is(']')) {
        node ??= start();
        this.#value(field, node);
        nodes.push(node);
        node = undefined;
        this.#take(',');
      }
      this.#next();
      if (nodes.length === 0) {
        // An empty list says nothing, but its comments do: they go to the next field.
        this.#pending.unshift(...first.leading, ...first.trailing);
        this.#target = { trailing: this.#pending };
      }
    } else {
      this.#value(field, first);
      nodes.push(first);
    }
    this.#take(';', ',');
    return nodes;
  }

  #value(field: Field, node: FieldNode): void {
    if (field.cardinality === 'map') {
      const entry = { key: mapPart(1, field.key as ScalarType), value: mapPart(2, field.type) };
      node.value = this.#message(entry, node);
      const key = node.value.fields.find(({ name }) => name === 'key')?.value;
      node.key = typeof key === 'string' ? sortKey(key, field.key as ScalarType) : '';
    } else if (typeof field.type === 'function') {
      node.value = this.#message(field.type().fields, node);
    } else {
      node.value = this.#scalar(field.type);
      node.leading.push(...this.#takePending());
    }
    this.#target = node;
  }

  #message(fields: MessageSchema['fields'], node: FieldNode): MessageNode {
    this.#next();
    node.leading.push(...this.#takePending());
    const message: MessageNode = { fields: [], dangling: [], trailing: [] };
    this.#target = message;
    while (!this.#is('}') && !this.#is('>')) message.fields.push(...this.#field(fields));
    this.#next();
    message.dangling = this.#takePending();
    return message;
  }

  #scalar(type: ScalarType | EnumSchema): string {
    const sign = this.#take('-') ? '-' : '';
    const { text, type: kind } = this.#current;
    if (kind === 'string') {
      const bytes: number[] = [];
      while (this.#current.type === 'string') unescapeString(this.#next().bytes, bytes);
      return escapeString(Uint8Array.from(bytes));
    }
    this.#next();
    if (typeof type === 'object') {
      if (kind === 'identifier') return text;
      const number = sign + integerText(text);
      return enumName(type, Number(number)) ?? number;
    }
    if (type === 'bool') return /^(?:true|True|t|0*1|0[xX]0*1)$/.test(text) ? 'true' : 'false';
    if (type === 'float' || type === 'double') return floatOf(sign, text, type);
    return sign + integerText(text);
  }
}

function mapPart(number: number, type: Field['type']): Field {
  return { number, type, cardinality: 'singular', optional: false };
}

/** The value that entries of a map are sorted by. */
function sortKey(text: string, type: ScalarType): string | bigint {
  if (type !== 'string') return BigInt(text);
  const bytes: number[] = [];
  unescapeString(Buffer.from(text), bytes);
  return Buffer.from(bytes).toString('utf8');
}

/** Decimal digits of an integer in any of the bases. */
function integerText(text: string): string {
  if (/^0[0-7]+$/.test(text)) return BigInt(`0o${text.slice(1)}`).toString();
  return BigInt(text).toString();
}

function floatOf(sign: string, text: string, type: 'float' | 'double'): string {
  const word = text.toLowerCase();
  if (word === 'nan') return 'nan';
  const size = word.startsWith('inf') ? Number.POSITIVE_INFINITY : Number.parseFloat(text);
  const value = sign === '-' ? -size : size;
  return floatText(type === 'float' ? Math.fround(value) : value, type);
}

function printFields(message: MessageNode, indent: string, lines: string[]): void {
  const sorted = [...message.fields].sort((a, b) => a.number - b.number || compareKeys(a.key, b.key));
  let isFirst = true;
  for (const field of sorted) {
    printComments(field.leading, indent, isFirst, lines);
    isFirst = false;
    const { name, value, trailing } = field;
    if (typeof value === 'string') {
      lines.push(`${indent}${name}: ${value}${behind(trailing)}`);
    } else {
      lines.push(`${indent}${name} {${behind(value.trailing)}`);
      printFields(value, `${indent}  `, lines);
      lines.push(`${indent}}${behind(trailing)}`);
    }
  }
  const dangling = [...message.dangling];
  while (dangling.at(-1) === '') dangling.pop();
  printComments(dangling, indent, isFirst, lines);
}

function printComments(comments: readonly string[], indent: string, atStart: boolean, lines: string[]): void {
  for (const comment of comments) {
    const isBlank = comment === '';
    if (isBlank && ((atStart && lines.at(-1)?.endsWith('{')) || lines.at(-1) === '')) continue;
    lines.push(isBlank ? '' : `${indent}${comment}`);
  }
}

function behind(comments: readonly string[]): string {
  return comments.length === 0 ? '' : `  ${comments.join(' ')}`;
}

function compareKeys(a: string | bigint | undefined, b: string | bigint | undefined): number {
  if (a === undefined || b === undefined || a === b) return 0;
  return a < b ? -1 : 1;
}
