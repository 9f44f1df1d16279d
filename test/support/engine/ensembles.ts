/** Configurations of ensembles and their members for tests of the engine, and requests to them. */
import assert from 'node:assert/strict';
import type { ReadyModel } from '../../../src/contract/engine.js';
import type { InferenceRequest, InferenceResponse } from '../../../src/contract/request.js';
import type { Tensor } from '../../../src/protocol/tensor.js';
import { GatedBackend, infer, int32, makeRequest, startEngine } from './engine-harness.js';
import { type Script, ScriptedBackend } from './scripted-backend.js';

export interface Io {
  readonly inputs?: readonly string[];
  readonly outputs?: readonly string[];
  readonly dims?: string;
  readonly maxBatch?: number;
  readonly more?: string;
}

function tensors(kind: string, names: readonly string[], dims: string): string {
  // A name that ends in ? is optional.
  return names
    .map((name) => {
      const optional = name.endsWith('?') ? 'optional: true' : '';
      return `${kind} { name: "${name.replace('?', '')}" data_type: TYPE_INT32 dims: ${dims} ${optional} }`;
    })
    .join(' ');
}

export function model(name: string, io: Io = {}, backend = 'scripted'): string {
  const { inputs = ['IN'], outputs = ['OUT'], dims = '[1]', maxBatch = 8, more = '' } = io;
  return `name: "${name}" backend: "${backend}" max_batch_size: ${maxBatch} ${tensors('input', inputs, dims)}
    ${tensors('output', outputs, dims)} instance_group { count: 1 kind: KIND_CPU } ${more}`;
}

/** `step('m', { IN: 'a' }, { OUT: 'b' })` */
export function step(name: string, from: Record<string, string>, to: Record<string, string>, version = -1): string {
  const map = (kind: string, entries: Record<string, string>): string =>
    Object.entries(entries)
      .map(([key, value]) => `${kind} { key: "${key}" value: "${value}" }`)
      .join(' ');
  return `step { model_name: "${name}" model_version: ${version} ${map('input_map', from)} ${map('output_map', to)} }`;
}

export function ensemble(name: string, steps: readonly string[], io: Io = {}): string {
  const { inputs = ['DATA'], outputs = ['RESULT'], dims = '[1]', maxBatch = 8, more = '' } = io;
  return `name: "${name}" platform: "ensemble" max_batch_size: ${maxBatch} ${tensors('input', inputs, dims)}
    ${tensors('output', outputs, dims)} ensemble_scheduling { ${steps.join(' ')} ${more} }`;
}

export async function start(configs: readonly string[], scripts: Record<string, Script> = {}) {
  const backend = new ScriptedBackend(scripts);
  const gated = new GatedBackend();
  const files = configs.flatMap((text) => {
    const name = /^name: "(.*?)"/.exec(text)![1]!;
    return [
      [`${name}/config.pbtxt`, text],
      [`${name}/1/`, ''],
    ];
  });
  const started = await startEngine(Object.fromEntries(files), { backends: [backend, gated] });
  assert.equal(started.engine.startError, undefined, started.log.join('\n'));
  return { ...started, backend, gated };
}

export const DATA = (values: number[] = [7], shape = [values.length, 1]) => int32('DATA', shape, values);

export function ask(target: ReadyModel, more: Partial<InferenceRequest> = {}): Promise<InferenceResponse> {
  return infer(target, makeRequest([DATA()], more));
}

/** Everything that comes for one request until the final call. */
export function stream(
  target: ReadyModel,
  request: InferenceRequest,
): Promise<[InferenceResponse | undefined, boolean][]> {
  return new Promise((resolve) => {
    const calls: [InferenceResponse | undefined, boolean][] = [];
    target.submit(request, (response, final) => {
      calls.push([response, final]);
      if (final) resolve(calls);
    });
  });
}

export const tensor = (name: string, shape: readonly number[], values: readonly number[]): Tensor => ({
  ...{ name, datatype: 'INT32', shape, data: new Uint8Array(Int32Array.from(values).buffer) },
});

export const CHAIN = [
  model('first'),
  model('second'),
  ensemble('chain', [step('first', { IN: 'DATA' }, { OUT: 'mid' }), step('second', { IN: 'mid' }, { OUT: 'RESULT' })]),
];
