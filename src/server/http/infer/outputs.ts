/** The `outputs` of a request over HTTP. */
import { invalidArg } from '../../../base/error.js';
import { unknownRegion } from '../../../protocol/infer/parameters.js';
import type { RegionLease } from '../../../protocol/infer/shared-memory.js';
import { jsonError, prefixed } from '../../../protocol/json/json-error.js';
import type { JsonValue } from '../../../protocol/json/json-value.js';
import { BINARY_FORM, JSON_FORM, NO_FORMS, type OutputForm } from '../../infer/output-form.js';
import { checkTensorCount } from '../../infer/request-limits.js';
import { readHttpPlace, stringMember } from './members.js';

/** Names and forms of the outputs that a request lists. */
export function readHttpOutputs(
  outputs: JsonValue | undefined,
  lease: RegionLease | undefined,
): { names: string[]; forms: ReadonlyMap<string, OutputForm> } {
  if (outputs === undefined) return { names: [], forms: NO_FORMS };
  if (!outputs.isArray) throw jsonError("Unable to parse 'outputs': attempt to access JSON non-array as array");
  const names: string[] = [];
  const forms = new Map<string, OutputForm>();
  const listed = outputs.asArray();
  checkTensorCount('outputs', listed.length);
  for (const output of listed) {
    const name = stringMember(output, 'name');
    const form = readForm(output.member('parameters'), lease);
    // An output that is listed twice comes once, in the first form.
    if (forms.has(name)) continue;
    names.push(name);
    forms.set(name, form);
  }
  return { names, forms };
}

function readForm(parameters: JsonValue | undefined, lease: RegionLease | undefined): OutputForm {
  if (parameters === undefined || !parameters.isObject) return JSON_FORM;
  const shared = parameters.member('shared_memory_region') !== undefined;
  if (shared) checkSharedForm(parameters);
  const classification = readClassification(parameters.member('classification'));
  const sharedMemory = readHttpPlace(parameters);
  if (sharedMemory !== undefined) {
    if (lease === undefined) throw unknownRegion(sharedMemory.region);
    lease.reserve(sharedMemory);
    return { binary: false, classification, sharedMemory };
  }
  const binary = readBinaryData(parameters, 'Unable to parse');
  if (classification === 0) return binary ? BINARY_FORM : JSON_FORM;
  return { binary, classification };
}

/** What cannot be had together with shared memory. */
function checkSharedForm(parameters: JsonValue): void {
  if (parameters.member('classification') !== undefined) {
    throw invalidArg("Output can't set both 'shared_memory_region' and 'classification'");
  }
  if (readBinaryData(parameters, 'Unable to set')) {
    throw invalidArg("Output can't set both 'shared_memory_region' and 'binary_data'");
  }
}

function readBinaryData(parameters: JsonValue, complaint: string): boolean {
  try {
    return parameters.member('binary_data')?.asBool() ?? false;
  } catch (error) {
    throw prefixed(`${complaint} 'binary_data': `, error);
  }
}

function readClassification(value: JsonValue | undefined): number {
  try {
    return value?.asUint() ?? 0;
  } catch (error) {
    throw prefixed("Unable to set 'classification': ", error);
  }
}
