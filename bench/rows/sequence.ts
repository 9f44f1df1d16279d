import path from 'node:path';
import type { ReadyModel } from '../../src/contract/engine.js';
import type { InferenceRequest } from '../../src/contract/request.js';
import { Engine } from '../../src/engine/engine.js';
import { writeFiles } from '../../test/support/machine/temporary-directory.js';
import { median } from '../measure.js';
import type { BenchContext, Row } from './context.js';

/** Clients at once, and requests of a sequence. */
const CLIENTS = 16;
const LENGTH = 8;

const TENSORS = `input { name: "INPUT0" data_type: TYPE_INT32 dims: [1] }
  output { name: "OUTPUT0" data_type: TYPE_INT32 dims: [1] }`;
const CONTROLS = `
  control_input { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [0, 1] } }
  control_input { name: "READY" control { kind: CONTROL_SEQUENCE_READY int32_false_true: [0, 1] } }
  control_input { name: "ID" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64 } }`;
const MODELS: Readonly<Record<string, string>> = {
  direct: `sequence_batching { direct {} ${CONTROLS} }`,
  oldest: `sequence_batching { oldest { max_candidate_sequences: ${CLIENTS} } ${CONTROLS} }`,
  plain: 'dynamic_batching {}',
};
const DATA = new Uint8Array(Int32Array.of(1).buffer);

/**
 * Sequences of eight requests beside dynamic batching, both on the built-in identity backend, so that the schedulers are
 * what is seen: requests per second inside the engine, 16 clients that wait for each response.
 */
export async function sequenceRows(context: BenchContext): Promise<Row[]> {
  const engine = await startEngine(path.join(context.folder, 'sequences'));
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

async function startEngine(repository: string): Promise<Engine> {
  for (const [name, config] of Object.entries(MODELS)) {
    const text = `backend: "identity" max_batch_size: ${CLIENTS} ${TENSORS} ${config}`;
    writeFiles(path.join(repository, name), { '1/': '', 'config.pbtxt': text });
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
  return engine;
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
        await send(model, id, inSequences && index === 0, inSequences && index === LENGTH - 1);
        answered++;
      }
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number + 1)));
  return answered / ((performance.now() - begin) / 1000);
}

function send(model: ReadyModel, correlationId: bigint, start: boolean, end: boolean): Promise<void> {
  const request: InferenceRequest = {
    id: '',
    inputs: [{ name: 'INPUT0', datatype: 'INT32', shape: [1, 1], data: DATA }],
    requestedOutputs: [],
    parameters: [],
    correlationId,
    sequenceStart: start,
    sequenceEnd: end,
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
