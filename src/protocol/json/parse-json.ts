/** JSON documents into values: at once, or in steps where the document is large. */
import type { Steps } from '../steps.js';
import { SyntaxReason } from './json-error.js';
import {
  type JsonDocument,
  type JsonValue,
  type LargeValue,
  MAX_VALUES,
  readValue,
  tooManyValues,
} from './json-value.js';
import { JsonScanner, type OpenContainer } from './scanner.js';

/** Documents above this many bytes are checked in steps of this many bytes. */
const STEP_BYTES = 128 * 1024;

/** Values that take at least this many bytes are remembered when a document is checked in steps. */
const LARGE_BYTES = 16 * 1024;

/**
 * Parses a document. Syntax errors are JsonSyntaxErrors with Triton's message. A byte order mark in front is skipped.
 * `maxValues`: most members and elements that become values of their own; a document with more is refused with
 * INVALID_ARG.
 */
export function parseJson(bytes: Uint8Array, maxValues = Number.POSITIVE_INFINITY): JsonValue {
  return parse(bytes, { left: maxValues, large: undefined });
}

/** The same in steps, for what clients and servers send: with the limit `MAX_VALUES`. */
export function* parseJsonSteps(bytes: Uint8Array): Steps<JsonValue> {
  if (bytes.length <= STEP_BYTES) return parseJson(bytes, MAX_VALUES);
  const document = { left: MAX_VALUES, large: yield* checkSteps(bytes) };
  return parse(bytes, document);
}

/** Checks a document without making any value; returns its large values. */
function* checkSteps(bytes: Uint8Array): Steps<ReadonlyMap<number, LargeValue>> {
  const large = new Map<number, LargeValue>();
  const scanner = documentScanner(bytes);
  const open: OpenContainer[] = [];
  const closed = (start: number, end: number, values: number): void => {
    if (end - start < LARGE_BYTES) return;
    large.set(start, { end, values });
    if (large.size > MAX_VALUES) throw tooManyValues();
  };
  while (!scanner.scan(open, scanner.reached + STEP_BYTES, closed)) yield;
  if (scanner.peek() !== 0) scanner.fail(SyntaxReason.ROOT_FOLLOWED);
  return large;
}

function parse(bytes: Uint8Array, document: JsonDocument): JsonValue {
  const scanner = documentScanner(bytes);
  const value = readValue(scanner, 0, document);
  if (scanner.peek() !== 0) scanner.fail(SyntaxReason.ROOT_FOLLOWED);
  return value;
}

function documentScanner(bytes: Uint8Array): JsonScanner {
  const bom = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  const scanner = new JsonScanner(bytes, bom ? 3 : 0);
  if (scanner.peek() === 0) scanner.fail(SyntaxReason.EMPTY);
  return scanner;
}
