/**
 * What an .onnx file says about itself: inputs and outputs with types and shapes, operator sets, where its weights lie.
 * Reads the file by position without the runtime and without touching the weights.
 */

import { dirname, join } from 'node:path';
import { TritonError } from '../base/error.js';
import { UnreadableFileError } from '../base/files/read-regular-file.js';
import { WireType } from '../protocol/proto/reader.js';
import { WireFile, WireFormatError } from './wire-file.js';

/** What kind of value an input or output is; only tensors can be served. */
export type OnnxValueKind = 'TENSOR' | 'SEQUENCE' | 'MAP' | 'OPAQUE' | 'SPARSETENSOR' | 'UNKNOWN';

/** One input or output of a graph. */
export interface OnnxValue {
  readonly name: string;
  readonly kind: OnnxValueKind;
  /** TensorProto.DataType; 0 when the file leaves it to inference or the value is not a tensor. */
  readonly elementType: number;
  /** -1 for symbolic and unknown dimensions; empty for scalars and when `hasShape` is false. */
  readonly dims: readonly number[];
  /** False when the file gives no shape, so that not even the rank is known. */
  readonly hasShape: boolean;
}

/** A tensor whose data lie in another file. */
export interface OnnxExternalData {
  /** Name of the tensor; may be empty inside attributes. */
  readonly tensor: string;
  /** Path of the file, relative to the model's file. */
  readonly location: string;
  /** Bytes from the start of that file. */
  readonly offset: number;
  /** Bytes; undefined when the file does not say (then up to the end). */
  readonly length: number | undefined;
}

/** The header of a model. */
export interface OnnxModel {
  readonly path: string;
  readonly irVersion: number;
  readonly producerName: string;
  readonly producerVersion: string;
  /** Version by domain; the standard domain is ''. */
  readonly opsets: ReadonlyMap<string, number>;
  readonly graphName: string;
  /** What a request must feed, in the file's order: the graph's inputs without those that have an initializer. */
  readonly inputs: readonly OnnxValue[];
  /** Inputs that have an initializer as their default (from IR version 4 on). */
  readonly overridable: readonly OnnxValue[];
  readonly outputs: readonly OnnxValue[];
  readonly nodeCount: number;
  readonly initializerNames: ReadonlySet<string>;
  /** Every reference to another file, those in nodes and nested graphs included. */
  readonly externalData: readonly OnnxExternalData[];
  readonly metadata: ReadonlyMap<string, string>;
  /** Where the outputs' shapes come from: as written in the file, or as inferred by the runtime (session-shapes.ts). */
  readonly shapesFrom: 'file' | 'runtime';
}

/**
 * Reads a model's header. What is not an ONNX model is refused with Triton's message for it (INTERNAL,
 * `onnx runtime error 7: ...` and the like); `cause` says the position in the file. A missing file is INTERNAL
 * `failed to stat file <path>`.
 */
export function readOnnxFile(path: string): OnnxModel {
  let file: WireFile;
  try {
    file = new WireFile(path);
  } catch (reason) {
    throw openError(path, reason);
  }
  try {
    const parser = new Parser(file);
    file.message(file.size, parser.model);
    if (!parser.hasGraph) throw loadError(path, 1, 'ModelProto does not have a graph.');
    return parser.result(path);
  } catch (reason) {
    if (reason instanceof WireFormatError) throw loadError(path, 7, 'Protobuf parsing failed.', reason);
    if (isSystemError(reason)) throw openError(path, reason);
    throw reason;
  } finally {
    file.close();
  }
}

/** Paths of the other files that a model takes data from, each once. */
export function externalFiles({ path, externalData }: OnnxModel): string[] {
  return [...new Set(externalData.map(({ location }) => join(dirname(path), location)))];
}

function loadError(path: string, code: number, text: string, cause?: Error): TritonError {
  return new TritonError('INTERNAL', `onnx runtime error ${code}: Load model from ${path} failed:${text}`, { cause });
}

function isSystemError(reason: unknown): reason is NodeJS.ErrnoException {
  return reason instanceof Error && typeof (reason as NodeJS.ErrnoException).code === 'string' && 'syscall' in reason;
}

function openError(path: string, reason: unknown): TritonError {
  if (reason instanceof UnreadableFileError) {
    return new TritonError('INTERNAL', `onnx runtime error 1: Load model from ${path} failed:${reason.reason}`);
  }
  if (!isSystemError(reason)) return TritonError.from(reason);
  if (reason.code === 'ENOENT' || reason.code === 'ENOTDIR') {
    return new TritonError('INTERNAL', `failed to stat file ${path}`, { cause: reason });
  }
  const why = reason.code === 'EACCES' ? 'system error number 13' : reason.message;
  return new TritonError('INTERNAL', `onnx runtime error 1: Load model from ${path} failed:${why}`, { cause: reason });
}

interface MutableValue {
  name: string;
  kind: OnnxValueKind;
  elementType: number;
  dims: number[];
  hasShape: boolean;
}

/** Field numbers of TypeProto's alternatives. */
const KIND_OF_FIELD: Readonly<Record<number, OnnxValueKind>> = {
  1: 'TENSOR',
  4: 'SEQUENCE',
  5: 'MAP',
  7: 'OPAQUE',
  8: 'SPARSETENSOR',
  9: 'UNKNOWN',
};

/** Nesting of graphs in attributes; protobuf's own parser stops at 100 messages. */
const MAX_DEPTH = 100;

/** Collects a model's header; each method handles the fields of one message of onnx.proto. */
class Parser {
  hasGraph = false;
  #irVersion = 0;
  #producerName = '';
  #producerVersion = '';
  #graphName = '';
  #nodeCount = 0;
  readonly #opsets = new Map<string, number>();
  readonly #inputs: OnnxValue[] = [];
  readonly #outputs: OnnxValue[] = [];
  readonly #initializers = new Set<string>();
  readonly #externalData: OnnxExternalData[] = [];
  readonly #metadata = new Map<string, string>();
  #depth = 0;

  constructor(readonly file: WireFile) {}

  result(path: string): OnnxModel {
    const isFed = (value: OnnxValue): boolean => !this.#initializers.has(value.name);
    return {
      path,
      irVersion: this.#irVersion,
      producerName: this.#producerName,
      producerVersion: this.#producerVersion,
      opsets: this.#opsets,
      graphName: this.#graphName,
      inputs: this.#inputs.filter(isFed),
      // Before IR version 4 every initializer had to be listed as an input; those are constants.
      overridable: this.#irVersion >= 4 ? this.#inputs.filter((value) => !isFed(value)) : [],
      outputs: this.#outputs,
      nodeCount: this.#nodeCount,
      initializerNames: this.#initializers,
      externalData: this.#externalData,
      metadata: this.#metadata,
      shapesFrom: 'file',
    };
  }

  readonly model = (field: number, wireType: number, end: number): boolean => {
    if (field === 1 && wireType === WireType.VARINT) this.#irVersion = this.file.varint(end);
    else if (wireType !== WireType.DELIMITED) return false;
    else if (field === 2) this.#producerName = this.file.text(end);
    else if (field === 3) this.#producerVersion = this.file.text(end);
    else if (field === 7) this.#mainGraph(end);
    else if (field === 8) this.#opset(end);
    else if (field === 14) this.#metadataEntry(end);
    else if (field === 25) this.file.message(end, this.#function);
    else return false;
    return true;
  };

  #mainGraph(end: number): void {
    this.hasGraph = true;
    this.file.message(end, (field, wireType, fieldEnd) => {
      if (wireType !== WireType.DELIMITED) return false;
      if (field === 1) this.#nodeCount++;
      if (field === 2) this.#graphName = this.file.text(fieldEnd);
      else if (field === 11) this.#inputs.push(this.#value(fieldEnd));
      else if (field === 12) this.#outputs.push(this.#value(fieldEnd));
      else if (field === 5) this.#initializers.add(this.#tensor(fieldEnd));
      else if (field === 15) this.#initializers.add(this.#sparseTensor(fieldEnd));
      else return this.#body(field, wireType, fieldEnd);
      return true;
    });
  }

  /** A nested graph: only its references to other files matter. */
  readonly #body = (field: number, wireType: number, end: number): boolean => {
    if (wireType !== WireType.DELIMITED) return false;
    if (field === 1) this.file.message(end, this.#node);
    else if (field === 5) this.#tensor(end);
    else if (field === 15) this.#sparseTensor(end);
    else return false;
    return true;
  };

  readonly #function = (field: number, wireType: number, end: number): boolean => {
    if (wireType !== WireType.DELIMITED || field !== 7) return false;
    this.file.message(end, this.#node);
    return true;
  };

  readonly #node = (field: number, wireType: number, end: number): boolean => {
    if (wireType !== WireType.DELIMITED || field !== 5) return false;
    this.file.message(end, this.#attribute);
    return true;
  };

  readonly #attribute = (field: number, wireType: number, end: number): boolean => {
    if (wireType !== WireType.DELIMITED) return false;
    if (field === 5 || field === 10) this.#tensor(end);
    else if (field === 22 || field === 23) this.#sparseTensor(end);
    else if (field === 6 || field === 11) {
      if (++this.#depth > MAX_DEPTH) throw new WireFormatError('graphs are nested too deeply', this.file.position);
      this.file.message(end, this.#body);
      this.#depth--;
    } else return false;
    return true;
  };

  /** Returns the tensor's name; its data are stepped over. */
  #tensor(end: number): string {
    let name = '';
    let external = false;
    const entries = new Map<string, string>();
    this.file.message(end, (field, wireType, fieldEnd) => {
      if (field === 8 && wireType === WireType.DELIMITED) name = this.file.text(fieldEnd);
      else if (field === 13 && wireType === WireType.DELIMITED) {
        const [key, value] = this.#entry(fieldEnd);
        entries.set(key, value);
      } else if (field === 14 && wireType === WireType.VARINT) external = this.file.varint(fieldEnd) === 1;
      else return false;
      return true;
    });
    if (external) {
      const length = entries.get('length');
      this.#externalData.push({
        tensor: name,
        location: entries.get('location') ?? '',
        offset: Number(entries.get('offset') ?? 0),
        length: length === undefined ? undefined : Number(length),
      });
    }
    return name;
  }

  /** A sparse tensor is called what its values are called. */
  #sparseTensor(end: number): string {
    let name = '';
    this.file.message(end, (field, wireType, fieldEnd) => {
      if (wireType !== WireType.DELIMITED || (field !== 1 && field !== 2)) return false;
      const part = this.#tensor(fieldEnd);
      if (field === 1) name = part;
      return true;
    });
    return name;
  }

  #value(end: number): OnnxValue {
    const value: MutableValue = { name: '', kind: 'TENSOR', elementType: 0, dims: [], hasShape: false };
    this.file.message(end, (field, wireType, fieldEnd) => {
      if (wireType !== WireType.DELIMITED) return false;
      if (field === 1) value.name = this.file.text(fieldEnd);
      else if (field === 2) this.#type(value, fieldEnd);
      else return false;
      return true;
    });
    return value;
  }

  #type(value: MutableValue, end: number): void {
    this.file.message(end, (field, wireType, fieldEnd) => {
      const kind = KIND_OF_FIELD[field];
      if (wireType !== WireType.DELIMITED || kind === undefined) return false;
      value.kind = kind;
      if (kind !== 'TENSOR') return false;
      this.file.message(fieldEnd, (part, partType, partEnd) => {
        if (part === 1 && partType === WireType.VARINT) value.elementType = this.file.varint(partEnd);
        else if (part === 2 && partType === WireType.DELIMITED) {
          value.hasShape = true;
          this.#shape(value.dims, partEnd);
        } else return false;
        return true;
      });
      return true;
    });
  }

  #shape(dims: number[], end: number): void {
    this.file.message(end, (field, wireType, fieldEnd) => {
      if (wireType !== WireType.DELIMITED || field !== 1) return false;
      let dim = -1;
      this.file.message(fieldEnd, (part, partType, partEnd) => {
        if (part !== 1 || partType !== WireType.VARINT) return false;
        dim = this.file.varint(partEnd);
        return true;
      });
      dims.push(dim);
      return true;
    });
  }

  #opset(end: number): void {
    let domain = '';
    let version = 0;
    this.file.message(end, (field, wireType, fieldEnd) => {
      if (field === 1 && wireType === WireType.DELIMITED) domain = this.file.text(fieldEnd);
      else if (field === 2 && wireType === WireType.VARINT) version = this.file.varint(fieldEnd);
      else return false;
      return true;
    });
    this.#opsets.set(domain === 'ai.onnx' ? '' : domain, version);
  }

  #metadataEntry(end: number): void {
    const [key, value] = this.#entry(end);
    this.#metadata.set(key, value);
  }

  #entry(end: number): [key: string, value: string] {
    let key = '';
    let value = '';
    this.file.message(end, (field, wireType, fieldEnd) => {
      if (wireType !== WireType.DELIMITED) return false;
      if (field === 1) key = this.file.text(fieldEnd);
      else if (field === 2) value = this.file.text(fieldEnd);
      else return false;
      return true;
    });
    return [key, value];
  }
}
