import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Engine } from '../../src/engine/engine.js';
import type { ReadyModel } from '../../src/engine/engine-api.js';
import type { InferenceRequest } from '../../src/engine/request.js';
import { median } from '../measure.js';
import { ROOT } from '../server-process.js';
import type { BenchContext, Row } from './context.js';

/** Clients at once, and requests of a sequence. */
const CLIENTS = 16;
const LENGTH = 8;

const TENSORS = `input { name: "INPUT" data_type: TYPE_INT32 dims: [1] }
  output { name: "OUTPUT" data_type: TYPE_INT32 dims: [1] } instance_group { count: 1 kind: KIND_CPU }`;
const CONTROLS = `
  control_input { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [0, 1] } }
  control_input { name: "READY" control { kind: CONTROL_SEQUENCE_READY int32_false_true: [0, 1] } }`;
const sequences = (strategy: string) => `${TENSORS} sequence_batching { ${strategy} ${CONTROLS} }`;
const MODELS: Readonly<Record<string, string>> = {
  direct: sequences('direct {}'),
  oldest: sequences(`oldest { max_candidate_sequences: ${CLIENTS} }`),
  plain: `${TENSORS} dynamic_batching {}
    input { name: "START" data_type: TYPE_INT32 dims: [1] } input { name: "READY" data_type: TYPE_INT32 dims: [1] }`,
};

/**
 * Sequences of eight requests beside the same model with dynamic batching, which is handed its control tensors: requests
 * per second inside the engine, 16 clients that wait for each answer.
 */
export async function sequenceRows(context: BenchContext): Promise<Row[]> {
  const repository = path.join(context.folder, 'sequences');
  for (const [name, config] of Object.entries(MODELS)) {
    mkdirSync(path.join(repository, name, '1'), { recursive: true });
    writeFileSync(
      path.join(repository, name, 'config.pbtxt'),
      `backend: "onnxruntime" max_batch_size: ${CLIENTS} ${config}`,
    );
    const file = 'fixtures/models/simple_sequence/1/model.onnx';
    cpSync(path.join(ROOT, file), path.join(repository, name, '1/model.onnx'));
  }
  const engine = await Engine.start({
    repositories: [repository],
    backendConfig: [],
    autoComplete: true,
    modelControlMode: 'none',
    loadModels: [],
    strictReadiness: true,
    log: { info() {}, warning: console.error, error: console.error, verbose() {} },
  });
  if (engine.startError !== undefined) throw engine.startError;
  const runs = new Map<string, number[]>(Object.keys(MODELS).map((name) => [name, []]));
  for (let round = 0; round <= context.rounds; round++) {
    for (const [name, rates] of runs) {
      const rate = await run(engine.model(name, ''), context.seconds, name !== 'plain');
      if (round > 0) rates.push(rate);
    }
  }
  await engine.stop(10_000);
  const plain = runs.get('plain')!;
  return ['direct', 'oldest'].map((name) => {
    const rates = runs.get(name)!;
    return {
      what: `sequences of ${LENGTH} requests in the engine, ${name}, ${CLIENTS} clients: throughput`,
      ours: `${median(rates).toFixed(0)} /s`,
      reference: `dynamic batching ${median(plain).toFixed(0)} /s`,
      ratio: median(rates.map((rate, i) => rate / plain[i]!)).toFixed(2),
      target: '',
    };
  });
}

/** Requests per second of clients that send one sequence after the other. */
async function run(model: ReadyModel, seconds: number, inSequences: boolean): Promise<number> {
  const begin = performance.now();
  const end = begin + seconds * 1000;
  let answered = 0;
  const client = async (number: number): Promise<void> => {
    for (let sequence = 1; performance.now() < end; sequence++) {
      const id = inSequences ? BigInt(number * 1_000_000 + sequence) : 0n;
      for (let index = 0; index < LENGTH; index++) {
        await send(model, id, index === 0, index === LENGTH - 1, inSequences);
        answered++;
      }
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number + 1)));
  return answered / ((performance.now() - begin) / 1000);
}

const number = (name: string, value: number) => ({
  name,
  datatype: 'INT32',
  shape: [1, 1],
  data: new Uint8Array(Int32Array.of(value).buffer),
});

function send(model: ReadyModel, id: bigint, start: boolean, end: boolean, inSequence: boolean): Promise<void> {
  const input = number('INPUT', 1);
  const request: InferenceRequest = {
    id: '',
    inputs: inSequence ? [input] : [input, number('START', Number(start)), number('READY', 1)],
    requestedOutputs: [],
    parameters: [],
    correlationId: id,
    sequenceStart: inSequence && start,
    sequenceEnd: inSequence && end,
    priority: 0n,
    timeoutMicroseconds: 0n,
  };
  return new Promise((resolve, reject) => {
    model.submit(request, (response) => {
      if (response?.error === undefined) resolve();
      else reject(response.error);
    });
  });
}
